#include "worker_agent/settings/agent_settings.h"

#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/number_list.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"
#include "common/net/ip_network.h"
#include "common/settings/cluster_settings.h"
#include "common/settings/foreign_words.h"
#include "common/settings/sched_address.h"
#include "common/settings/values.h"
#include "worker_agent/platform/platform.h"
#include "worker_agent/settings/hccl_settings.h"
#include "worker_agent/settings/table_parts.h"
#include "worker_agent/settings/torchrun_words.h"

namespace muster::agent {
namespace {

// Adds a setting in a language of its own: `take` parses and stores the value; shown is the text, `text` until one is
// given.
Setting& AddParsed(SettingsTable& table, std::string flag, std::function<absl::Status(const std::string&)> take,
                   std::string help, std::string text = "") {
  const auto given = std::make_shared<std::string>(std::move(text));
  Setting setting;
  setting.flag = std::move(flag);
  setting.help = std::move(help);
  setting.parse = [take = std::move(take), given](const std::string& value) {
    absl::Status status = take(value);
    if (status.ok()) *given = value;
    return status;
  };
  setting.show = [given] { return *given; };
  return table.Add(std::move(setting));
}

// Stores the result of `parse` for the text.
template <typename T, typename Parse>
std::function<absl::Status(const std::string&)> Into(T* value, Parse parse) {
  return [value, parse](const std::string& text) -> absl::Status {
    auto parsed = parse(text);
    if (!parsed.ok()) return parsed.status();
    *value = *std::move(parsed);
    return absl::OkStatus();
  };
}

absl::Status CheckAddress(const std::string& text) {
  const auto address = IpAddress::Parse(text);
  if (address && IsLinkLocal(*address)) return absl::InvalidArgumentError(kNoLinkLocal);
  if (address && !address->is_any()) return absl::OkStatus();
  return absl::InvalidArgumentError("must be a numeric IPv4 or IPv6 address of this machine");
}

// Accepts whole numbers, or auto.
absl::Status CheckLocalWorkerNum(const std::string& text) {
  if (text == "auto" || ParseWholeNumber(text, 1, kMaxSlotsPerNode).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must be a whole number from 1 to ", kMaxSlotsPerNode, ", or auto (one for each device found)"));
}

absl::Status CheckDevices(const std::string& text) {
  const bool is_list = ParseNumberRanges(text, kMaxSlotsPerNode - 1).ok();
  if (text == "auto" || text == "none" || is_list) return absl::OkStatus();
  return absl::InvalidArgumentError("must be auto, none, or numbers of devices like 0-3 or 0,2");
}

void AddRole(SettingsTable& table, std::string* role) {
  Setting& setting = table.AddString("role", role,
                                     "What this node's processes are; with MS_SCHED ms-worker becomes ms-scheduler "
                                     "--once and ignores the command.");
  setting.parse = [role](const std::string& text) -> absl::Status {
    if (text != "MS_WORKER" && text != "MS_PSERVER" && text != "MS_SERVER" && text != "MS_SCHED") {
      return absl::InvalidArgumentError(
          "must be one of: MS_WORKER, MS_PSERVER (or MS_SERVER), MS_SCHED (torchrun's --role is not needed here)");
    }
    *role = text == "MS_SERVER" ? "MS_PSERVER" : text;
    return absl::OkStatus();
  };
  setting.Value("ROLE").Env({"MS_ROLE"});
}

void AddCluster(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("Cluster");
  AddSchedAddress(table, &s.sched_host, &s.sched_port, /*may_be_zero=*/false,
                  {"Host name or address of the scheduler, with or without its port.", "Port of the scheduler."});
  AddJobId(table, &s.job_id);
  table
      .AddChoice("from", &s.from, PlatformNames(),
                 "Takes the job's name, size and this node's place from what started this process, where they are not "
                 "set; with --with_scheduler also where the scheduler is. auto: whichever is recognised.")
      .Env({"MS_FROM"});
  AddRole(table, &s.role);
  AddWorkerNum(table, &s.worker_num);
  AddServerNum(table, &s.server_num);
  AddHcclCmInit(table, &s.hccl_cm_init);
  table
      .AddBool("with_scheduler", &s.with_scheduler,
               "Starts a scheduler for this job if none listens and sched_host is this machine.")
      .Env({"MS_WITH_SCHEDULER"});
  table
      .AddBool(
          "standalone", &s.standalone,
          "The whole job runs on this machine, with a scheduler of its own on 127.0.0.1, at the --sched_port of the "
          "command line or a free port.")
      .Env({"MS_STANDALONE"});
}

void AddThisNode(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("This node");
  AddCheckedText(table, "local_worker_num", &s.local_worker_num, CheckLocalWorkerNum,
                 "How many processes this node runs; auto: one for each device found.")
      .Value("N|auto")
      .Env({"MS_LOCAL_WORKER", "MS_LOCAL_WORKER_NUM"})
      .Alias({"nproc_per_node"});
  AddCheckedText(
      table, "devices", &s.devices, CheckDevices,
      "Which devices (NPUs, GPUs) the processes get, one each: DEVICE_ID and the variable of visible devices. "
      "No other agent on this machine gets them meanwhile. auto: the first ones.")
      .Value("auto|none|N-M")
      .Env({"MS_DEVICES"});
  AddCheckedText(
      table, "node_id", &s.node_id, CheckId,
      "Name of this node, unique in the job; a number asks for that rank (default: the scheduler gives one).")
      .Value("ID")
      .Env({"MS_NODE_ID"});

  Setting node_rank;
  node_rank.flag = "node_rank";
  node_rank.value_name = "N";
  node_rank.help = "Place of this node among the nodes, from 0; -1: by rule.";
  node_rank.env = {"MS_NODE_RANK", "NODE_RANK"};
  node_rank.parse = [&s](const std::string& text) -> absl::Status {
    const auto number = ParseWholeNumber(text, INT64_MIN, int64_t{kMaxWorkers} - 1);
    if (!number.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("must be a whole number from 0 to ", kMaxWorkers - 1, ", or -1 for none"));
    }
    s.node_rank = *number < 0 ? std::nullopt : std::make_optional(*number);
    return absl::OkStatus();
  };
  node_rank.show = [&s] { return s.node_rank ? absl::StrCat(*s.node_rank) : ""; };
  table.Add(std::move(node_rank));

  AddCheckedText(
      table, "worker_ip", &s.worker_ip, CheckAddress,
      "Numeric address that the other nodes reach this one at (default: the one that reaches the scheduler).")
      .Value("ADDRESS")
      .Env({"MS_WORKER_IP"});
  AddCheckedText(table, "machine", &s.machine, CheckId,
                 "Agents with one machine name count as one machine (default: found from the kernel).")
      .Value("NAME")
      .Env({"MS_MACHINE"});
  Setting& label = table.AddStrings("label", &s.labels,
                                    "Where this node stands, e.g. rack=r12; nodes with like labels get ranks side by "
                                    "side. May be repeated, or have several: rack=r12,switch=s3.");
  label.parse = [&s](const std::string& text) -> absl::Status {
    const auto labels = ParseLabels(text);
    if (!labels.ok()) return labels.status();
    for (const auto& [key, value] : *labels) s.labels.push_back(absl::StrCat(key, "=", value));
    return absl::OkStatus();
  };
  label.Value("KEY=VALUE").Env({"MS_LABEL"});
  table.AddBool("spare", &s.spare, "Stands ready to take over a lost node's ranks.").Env({"MS_SPARE"});
  table
      .AddBool("shared_job", &s.shared_job,
               "Joins the job also where another user opened it, and lets nodes of other users join.")
      .Env({"MS_SHARED_JOB"});
  table.AddString("rank_table_file", &s.rank_table_file, "Rank table that says which server has which ranks.")
      .Value("FILE")
      .Absolute()
      .Env({"RANK_TABLE_FILE"});
  AddHccl(table, s);
}

void AddTorchMaster(SettingsTable& table, AgentSettings& s) {
  AddCheckedText(table, "torch_master_addr", &s.master_addr, CheckHost,
                 "PyTorch's MASTER_ADDR for the processes (default: the address of rank 0's node).")
      .Value("HOST")
      .Env({"MASTER_ADDR"});
  Setting& port = table.AddString("torch_master_port", &s.master_port,
                                  "PyTorch's MASTER_PORT for the processes (default: a free port on rank 0's node).");
  port.parse = [&s](const std::string& text) -> absl::Status {
    const auto number = ParseWholeNumber(text, 1, 65535);
    if (!number.ok()) return absl::InvalidArgumentError("must be a port from 1 to 65535");
    s.master_port = absl::StrCat(*number);
    return absl::OkStatus();
  };
  port.Value("PORT").Env({"MASTER_PORT"});
}

void AddExec(SettingsTable& table, AgentSettings& s) {
  Setting& exec =
      table.AddBool("allow_exec", &s.allows_exec,
                    "With --per_job: the command may start programs on the other nodes of its round, which "
                    "is what mpirun and horovodrun use ssh for. On every node, with TLS; insecure: without.");
  exec.parse = [&s](const std::string& text) -> absl::Status {
    s.allows_plain_exec = text == "insecure";
    const absl::StatusOr<bool> parsed = s.allows_plain_exec ? true : ParseBool(text);
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(parsed.status().message(), ", or insecure"));
    s.allows_exec = *parsed;
    return absl::OkStatus();
  };
  exec.show = [&s] { return s.allows_plain_exec ? "insecure" : s.allows_exec ? "yes" : "no"; };
  exec.Env({"MS_ALLOW_EXEC"});
}

void AddWhatIsStarted(SettingsTable& table, AgentSettings& s) {
  table.AddBool("per_node", &s.per_node, "Starts the command once for this agent, not once for each process slot.")
      .Env({"MS_PER_NODE"});
  table.AddBool("per_job", &s.per_job, "Starts the command once, on the first node.").Env({"MS_PER_JOB"});
  table
      .AddChoice("leftover", &s.leftover, {std::string(kLeftoverWait), std::string(kLeftoverEnd)},
                 "What becomes of the background processes that the command of --per_node or --per_job leaves when it "
                 "ends with 0. wait: it counts as ended when they have ended, or as failed when one fails; end: they "
                 "are ended. Those in a session of their own (setsid, daemons) are always ended.")
      .Env({"MS_LEFTOVER"})
      .Default(std::string(kLeftoverWait));
  table
      .AddBool("print_assignment", &s.prints_assignment,
               "Starts nothing: joins, prints this node's assignment as JSON, and ends.")
      .Env({"MS_PRINT_ASSIGNMENT"});
}

void AddProcesses(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("Processes");
  AddWhatIsStarted(table, s);
  AddExec(table, s);
  table
      .AddChoice(
          "preflight", &s.preflight, {"none", "host", "ring", "host,ring"},
          "What is checked before the start. host: this machine and its devices, before the node joins, and the nodes "
          "against each other; ring: all ranks check their links together (ms-ring), on every node or on none.")
      .Env({"MS_PREFLIGHT"})
      .Default("none");
  table
      .AddChoice("preflight_fatal", &s.preflight_fatal, {"warning", "error"},
                 "From which finding of --preflight host on the node does not start.")
      .Env({"MS_PREFLIGHT_FATAL"});
  table
      .AddChoice("mindspore_gateway", &s.mindspore_gateway, {"auto", "on", "off"},
                 "The scheduler that this agent is to its MindSpore processes (MS_SCHED_HOST and MS_SCHED_PORT of "
                 "theirs): one port for each slot. auto: unless no ports can be had; off: they are told "
                 "ms-scheduler's address. on: also beyond 1,024 ranks the host names of all are known.")
      .Env({"MS_MINDSPORE_GATEWAY"});
  table
      .AddChoice(
          "torch_store", &s.torch_store, {"auto", "agent", "rank0"},
          "Who serves PyTorch's store at MASTER_ADDR and MASTER_PORT. agent: the agent of rank 0's node, with an "
          "empty one for each round; rank0: the process itself, as without a launcher. auto: agent, and rank0 with "
          "--per_node and --per_job, whose processes are started by the command.")
      .Env({"MS_TORCH_STORE"});
  AddCheckedText(
      table, "torch_store_peers", &s.torch_store_peers,
      [](const std::string& text) { return ParseNetworks(text).status(); },
      "Networks and addresses, with commas, whose processes the agent's store serves besides those of the round's "
      "machines, such as 10.0.0.0/8.")
      .Value("NETWORKS")
      .Env({"MS_TORCH_STORE_PEERS"});
  table
      .AddOptionalBool("torch_store_relay", &s.torch_store_relay,
                       "Processes reach the agent's store through the agent of their own machine, at a port of its "
                       "loopback, and the agents have one link each to rank 0's, with TLS where it is configured. By "
                       "default only with --require_tls; rank 0's agent decides.")
      .Env({"MS_TORCH_STORE_RELAY"});
  AddFrameworks(table, s);
  AddPythonWords(table, s);
  AddEnv(table, &s.env);
  AddParsed(table, "stop_signal", Into(&s.stop_signal, ParseSignal),
            "The signal that asks a process to stop. If not set, Ctrl-C (SIGINT) at ms-worker goes on to its processes "
            "first, and this follows after a third of --stop_timeout.",
            "TERM")
      .Value("SIGNAL")
      .Env({"MS_STOP_SIGNAL"});
  table
      .AddChoice(
          "isolate", &s.isolate, {std::string(kIsolateOff), std::string(kIsolatePids)},
          "pid: the processes run in a pid namespace of their own, which the kernel ends with the keeper: nothing "
          "outlives the agent and its three helper processes even if all four are killed in one instant. Needs "
          "root or user namespaces.")
      .Env({"MS_ISOLATE"});
  AddParsed(table, "bind_core", Into(&s.bind_core, ParseCoreBinding),
            "CPUs of the processes: auto shares them out; device: those of the NUMA node that its device is at; "
            "\"0:0-3;1:4-7\" names them for each local rank.")
      .Value("CORES")
      .Env({"MS_BIND_CORE"});
  AddParsed(table, "port_range", Into(&s.port_range, ParsePortRange),
            "Ports that this node may listen on (default: any that are free).")
      .Value("A-B")
      .Env({"MS_PORT_RANGE"});
  AddTorchMaster(table, s);
}

void AddLogging(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("Logging");
  table
      .AddString("log_dir", &s.log_dir,
                 "Folder for logs: JOB/RUN-TIME/worker_<rank>.log and failure.json, with links to "
                 "the newest.")
      .Value("FOLDER")
      .Absolute()
      .Env({"MS_LOG_DIR"});
  table
      .AddUint("keep_logs", &s.keep_logs, 0, 1'000'000,
               "How many runs of a job keep their logs in --log_dir; older ones are removed. 0: all.")
      .Env({"MS_KEEP_LOGS"});
  AddParsed(table, "tail", Into(&s.tail, ParseTail),
            "Ranks whose output is shown live: all, none, or a list like 0,3-5 (default: all without --log_dir, else "
            "none).")
      .Value("RANKS")
      .Env({"MS_TAIL"})
      .Alias({"tail_worker_log"});
  AddTorchrunsOutput(table, s);
  AddLogFormat(table, &s.log_format);
  AddLogLevel(table, &s.log_level);
}

// Accepts ms-scheduler's settings in a shared config file or environment. Keeps them for one that this agent starts.
void AddSchedulersOwn(SettingsTable& table, AgentSettings& s) {
  const auto add = [&](const std::string& flag, const std::string& value_name, const std::string& variable) {
    table.AddIgnored(flag, value_name, {variable}).on_set = [&s, flag, variable](const std::string& value,
                                                                                 const std::string& source) {
      const bool is_flag = absl::StartsWith(source, "--");
      if (!is_flag && source == variable) return;  // a child inherits it
      (is_flag ? s.scheduler_flags : s.scheduler_config).push_back(absl::StrCat("--", flag, "=", value));
    };
  };
  add("listen_address", "ADDRESS", "MS_LISTEN_ADDRESS");
  add("once", "", "MS_ONCE");
  add("heartbeat_datagrams", "BOOL", "MS_HEARTBEAT_DATAGRAMS");
  add("rejoin_timeout", "SECONDS", "MS_REJOIN_TIMEOUT");
  add("keep_runs_for", "SECONDS", "MS_KEEP_RUNS_FOR");
  add("on_event", "COMMAND", "MS_ON_EVENT");
  add("node_timeout", "SECONDS", "MS_NODE_TIMEOUT");
  add("heartbeat_interval", "SECONDS", "MS_HEARTBEAT_INTERVAL");
  add("disconnect_grace", "SECONDS", "MS_DISCONNECT_GRACE");
  add("fence_timeout", "SECONDS", "MS_FENCE_TIMEOUT");
  add("fence_needs", "any-three|all-four", "MS_FENCE_NEEDS");
  add("log_file", "FILE", "MS_LOG_FILE");
  add("admin_socket", "PATH", "MS_ADMIN_SOCKET");
  add("journal_path", "FILE", "MS_JOURNAL_PATH");
  add("mindspore_port", "PORT", "MS_MINDSPORE_PORT");
  add("http_address", "HOST[:PORT]", "MS_HTTP_ADDRESS");
  add("http_token_file", "FILE", "MS_HTTP_TOKEN_FILE");
  add("http_view_token_file", "FILE", "MS_HTTP_VIEW_TOKEN_FILE");
  add("http_names", "NAME[,NAME]", "MS_HTTP_NAMES");
}

void AddJoin(SettingsTable& table, AgentSettings& s) {
  table.AddIgnored("join", "BOOL", {}).on_set = [&s](const std::string&, const std::string& source) {
    s.remarks.push_back(
        absl::StrCat("join (from ", source, ") has no effect: ms-worker always stays until its processes have ended"));
  };
}

}  // namespace

SettingsTable AgentSettingsTable(AgentSettings& settings) {
  SettingsTable table("ms-worker", "ms-worker [settings] [--] command [args]",
                      "Joins a training job, starts the command once for each process of this node when all nodes are "
                      "there, and stays with it. Without a command it prints this node's assignment as JSON.");
  AddCluster(table, settings);
  AddThisNode(table, settings);
  AddProcesses(table, settings);
  table.BeginGroup("Recovery");
  AddRecovery(table, &settings.enable_recovery, &settings.recovery_path, &settings.max_restarts,
              &settings.restart_scope, &settings.progress_timeout);
  table.BeginGroup("Timeouts");
  AddTopoTimeout(table, &settings.topo_timeout);
  table
      .AddUint("cluster_retry_num", &settings.cluster_retry_num, 1, 1'000'000'000,
               "How often the scheduler is tried, every 3 s, before this agent gives up.")
      .Env({"MS_CLUSTER_RETRY_NUM"});
  AddReceiveMsgTimeout(table, &settings.receive_msg_timeout);
  AddStopTimeout(table, &settings.stop_timeout);
  AddLogging(table, settings);
  AddTls(table, &settings.tls);
  table.BeginGroup("Other");
  AddCheckConfig(table, &settings.check_config);
  AddSchedulersOwn(table, settings);
  AddJoin(table, settings);
  ForbidForeignWords(table);  // comes last, because it spares the words that have a setting by now
  return table;
}

}  // namespace muster::agent
