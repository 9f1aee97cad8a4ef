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

// Adds a setting with a syntax of its own. `take` parses and stores the value. --check_config shows the given text, or
// `text` if none was given.
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

// Returns a function that stores the result of `parse` in `value`.
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
                                     "What the processes of this node are: MS_WORKER or MS_PSERVER (parameter "
                                     "servers). With MS_SCHED, ms-worker becomes ms-scheduler --once and ignores the "
                                     "command.");
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
  AddJobId(table, &s.job_id).Common();
  table
      .AddChoice("from", &s.from, PlatformNames(),
                 "Platform that gives the job's name and size and this node's place, if they are not set. With "
                 "--with_scheduler it also gives the scheduler's host. auto: the one that is recognized.")
      .Env({"MS_FROM"})
      .Common();
  AddRole(table, &s.role);
  AddWorkerNum(table, &s.worker_num).Common();
  AddServerNum(table, &s.server_num);
  AddHcclCmInit(table, &s.hccl_cm_init);
  table
      .AddBool("with_scheduler", &s.with_scheduler,
               "Starts a scheduler for this job if sched_host is this machine and no scheduler listens there.")
      .Env({"MS_WITH_SCHEDULER"})
      .Common();
  table
      .AddBool("standalone", &s.standalone,
               "Runs the whole job on this machine, with its own scheduler on 127.0.0.1. The scheduler's port is "
               "--sched_port of the command line, or else a free one.")
      .Env({"MS_STANDALONE"})
      .Common();
}

void AddThisNode(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("This node");
  AddCheckedText(table, "local_worker_num", &s.local_worker_num, CheckLocalWorkerNum,
                 "Number of processes on this node. auto: one for each device.")
      .Value("N|auto")
      .Range(absl::StrCat("1 to ", kMaxSlotsPerNode))
      .Env({"MS_LOCAL_WORKER", "MS_LOCAL_WORKER_NUM"})
      .Alias({"nproc_per_node"})
      .Common();
  AddCheckedText(table, "devices", &s.devices, CheckDevices,
                 "Devices (NPUs, GPUs) of the processes, one for each, such as 0-3 or 0,2. While this agent runs, "
                 "other agents on this machine do not get them. auto: the first ones.")
      .Value("auto|none|N-M")
      .Default("the script chooses")
      .Env({"MS_DEVICES"})
      .Common();
  AddCheckedText(table, "node_id", &s.node_id, CheckId,
                 "Name of this node, unique in the job. If it is a number, it is also the node's rank or place.")
      .Value("ID")
      .Default("given by the scheduler")
      .Env({"MS_NODE_ID"});

  Setting node_rank;
  node_rank.flag = "node_rank";
  node_rank.value_name = "N";
  node_rank.help = "Place of this node among the nodes, from 0. -1: not set.";
  node_rank.default_text = "by label, address and node id";
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

  AddCheckedText(table, "worker_ip", &s.worker_ip, CheckAddress,
                 "Numeric address at which the other nodes reach this one.")
      .Value("ADDRESS")
      .Default("the address that reaches the scheduler")
      .Env({"MS_WORKER_IP"});
  AddCheckedText(table, "machine", &s.machine, CheckId,
                 "Name of this machine. Agents with the same name count as one machine.")
      .Value("NAME")
      .Default("boot id and network namespace")
      .Env({"MS_MACHINE"});
  Setting& label = table.AddStrings("label", &s.labels,
                                    "Location of this node, such as rack=r12,switch=s3. Nodes with the same labels get "
                                    "neighbouring ranks. May be repeated.");
  label.parse = [&s](const std::string& text) -> absl::Status {
    const auto labels = ParseLabels(text);
    if (!labels.ok()) return labels.status();
    for (const auto& [key, value] : *labels) s.labels.push_back(absl::StrCat(key, "=", value));
    return absl::OkStatus();
  };
  label.Value("KEY=VALUE").Env({"MS_LABEL"});
  table.AddBool("spare", &s.spare, "Joins without ranks, and takes over those of a lost node.")
      .Env({"MS_SPARE"})
      .Common();
  table
      .AddBool("shared_job", &s.shared_job,
               "Joins the job even if another user opened it, and lets nodes of other users join.")
      .Env({"MS_SHARED_JOB"});
  table.AddString("rank_table_file", &s.rank_table_file, "Rank table, which gives each server its ranks and devices.")
      .Value("FILE")
      .Absolute()
      .Env({"RANK_TABLE_FILE"});
  AddHccl(table, s);
}

void AddTorchMaster(SettingsTable& table, AgentSettings& s) {
  AddCheckedText(table, "torch_master_addr", &s.master_addr, CheckHost, "MASTER_ADDR of PyTorch for the processes.")
      .Value("HOST")
      .Default("the address of rank 0's node")
      .Env({"MASTER_ADDR"});
  Setting& port = table.AddString("torch_master_port", &s.master_port, "MASTER_PORT of PyTorch for the processes.");
  port.parse = [&s](const std::string& text) -> absl::Status {
    const auto number = ParseWholeNumber(text, 1, 65535);
    if (!number.ok()) return absl::InvalidArgumentError("must be a port from 1 to 65535");
    s.master_port = absl::StrCat(*number);
    return absl::OkStatus();
  };
  port.Value("PORT").Range("1 to 65535").Default("a free port on rank 0's node").Env({"MASTER_PORT"});
}

void AddExec(SettingsTable& table, AgentSettings& s) {
  Setting& exec =
      table.AddBool("allow_exec", &s.allows_exec,
                    "With --per_job: lets the command start programs on the other nodes of its round, as mpirun "
                    "and horovodrun do with ssh. Set it on every node. Needs TLS; --allow_exec=insecure does not.");
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
  table.AddBool("per_node", &s.per_node, "Starts the command once for this agent, not once for each process.")
      .Env({"MS_PER_NODE"});
  table.AddBool("per_job", &s.per_job, "Starts the command once for the job, on the first node.").Env({"MS_PER_JOB"});
  table
      .AddChoice("leftover", &s.leftover, {std::string(kLeftoverWait), std::string(kLeftoverEnd)},
                 "What happens to background processes after the command of --per_node or --per_job has ended with 0. "
                 "wait: the agent waits for them, and the command fails if one of them fails. end: the agent ends "
                 "them. It always ends those in a session of their own (setsid, daemons).")
      .Env({"MS_LEFTOVER"})
      .Default(std::string(kLeftoverWait));
  table
      .AddBool("print_assignment", &s.prints_assignment,
               "Joins, prints this node's assignment as JSON, and ends, without starting processes.")
      .Env({"MS_PRINT_ASSIGNMENT"});
}

void AddProcesses(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("Processes");
  AddWhatIsStarted(table, s);
  AddExec(table, s);
  AddPreflight(table, s);
  table
      .AddChoice("mindspore_gateway", &s.mindspore_gateway, {"auto", "on", "off"},
                 "Whether this agent is the scheduler of its MindSpore processes, at one port for each. auto: if ports "
                 "can be reserved. on: always; also serves the host names of all ranks if there are more than 1,024. "
                 "off: the processes get the address of ms-scheduler.")
      .Env({"MS_MINDSPORE_GATEWAY"});
  table
      .AddChoice(
          "torch_store", &s.torch_store, {"auto", "agent", "rank0"},
          "Which program serves PyTorch's store at MASTER_ADDR and MASTER_PORT. agent: the agent of rank 0's node, "
          "with an empty store for each round. rank0: the process of rank 0. auto: agent, but rank0 with --per_node "
          "and --per_job.")
      .Env({"MS_TORCH_STORE"});
  AddCheckedText(
      table, "torch_store_peers", &s.torch_store_peers,
      [](const std::string& text) { return ParseNetworks(text).status(); },
      "More networks and addresses that the agent's store serves, separated by commas, such as 10.0.0.0/8.")
      .Value("NETWORKS")
      .Default("only the machines of the round")
      .Env({"MS_TORCH_STORE_PEERS"});
  table
      .AddOptionalBool("torch_store_relay", &s.torch_store_relay,
                       "Lets processes reach the store of rank 0's agent through their own agent, at a loopback port. "
                       "Each agent has one link to rank 0's agent, with TLS if it is configured. The value at rank 0's "
                       "agent counts, so set the same on all nodes. On by default with --require_tls.")
      .Env({"MS_TORCH_STORE_RELAY"});
  AddFrameworks(table, s);
  AddPythonWords(table, s);
  AddEnv(table, &s.env);
  AddParsed(table, "stop_signal", Into(&s.stop_signal, ParseSignal),
            "Signal that asks a process to stop. If it is not set, Ctrl-C (SIGINT) at ms-worker also reaches its "
            "processes as SIGINT, and TERM follows after a third of --stop_timeout.",
            "TERM")
      .Value("SIGNAL")
      .Env({"MS_STOP_SIGNAL"});
  table
      .AddChoice(
          "isolate", &s.isolate, {std::string(kIsolateOff), std::string(kIsolatePids)},
          "pid: runs the processes in a pid namespace, which the kernel ends with the keeper. So no process survives "
          "even if the agent and its three helper processes are killed at once. Needs root or user namespaces.")
      .Env({"MS_ISOLATE"});
  AddParsed(
      table, "bind_core", Into(&s.bind_core, ParseCoreBinding),
      "CPUs of each process. auto: an even share. device: those of its device's NUMA node. \"0:0-3;1:4-7\": those "
      "named for its local rank.")
      .Value("CORES")
      .Default("not bound")
      .Env({"MS_BIND_CORE"});
  AddParsed(table, "port_range", Into(&s.port_range, ParsePortRange), "Ports that this node may listen on.")
      .Value("A-B")
      .Range("1024 to 65535")
      .Default("any free port")
      .Env({"MS_PORT_RANGE"});
  AddTorchMaster(table, s);
}

void AddOutputRules(SettingsTable& table, OutputRuleTexts& rules) {
  Setting& expect = table.AddStrings(
      "expect", &rules.expect,
      "A line of output that shows progress, as a regular expression such as 'step[ =:]+(\\d+)'. Its first group is a "
      "number that changes with each step. auto: the lines of tqdm, Hugging Face Trainer, Lightning, Megatron, "
      "DeepSpeed "
      "and MindSpore. May be repeated.");
  expect.parse = [&rules](const std::string& text) -> absl::Status {
    if (absl::Status status = CheckExpectRule(text); !status.ok()) return status;
    rules.expect.push_back(text);
    return absl::OkStatus();
  };
  expect.Value("REGEX|auto").Env({"MS_EXPECT"}).Default("only MS_PROGRESS_FILE shows progress");
  Setting& fail_on = table.AddStrings(
      "fail_on", &rules.fail_on,
      "A line of output that means that the process has failed, as a regular expression. The process is ended. May be "
      "repeated.");
  fail_on.parse = [&rules](const std::string& text) -> absl::Status {
    if (absl::Status status = CheckFailRule(text); !status.ok()) return status;
    rules.fail_on.push_back(text);
    return absl::OkStatus();
  };
  fail_on.Value("REGEX").Env({"MS_FAIL_ON"});
}

void AddLogging(SettingsTable& table, AgentSettings& s) {
  table.BeginGroup("Logging");
  table
      .AddString("log_dir", &s.log_dir,
                 "Folder for each run's logs, JOB/RUN-TIME/worker_RANK.log and failure.json, with links to the "
                 "newest.")
      .Value("FOLDER")
      .Absolute()
      .Default("no log files")
      .Env({"MS_LOG_DIR"})
      .Common();
  table
      .AddUint("keep_logs", &s.keep_logs, 0, 1'000'000,
               "Number of a job's runs that keep their logs in --log_dir. Older logs are removed. 0: keeps all.")
      .Env({"MS_KEEP_LOGS"});
  AddParsed(table, "tail", Into(&s.tail, ParseTail), "Ranks to show live: all, none, or a list such as 0,3-5.")
      .Value("RANKS")
      .Default("all; with --log_dir 0")
      .Env({"MS_TAIL"})
      .Alias({"tail_worker_log"})
      .Common();
  AddTorchrunsOutput(table, s);
  AddLogFormat(table, &s.log_format);
  AddLogLevel(table, &s.log_level);
}

// Accepts ms-scheduler's settings, since a config file or environment may be shared with it. Keeps those from flags and
// from the file for a scheduler that this agent starts.
void AddSchedulersOwn(SettingsTable& table, AgentSettings& s) {
  const auto add = [&](const std::string& flag, const std::string& value_name, const std::string& variable) {
    table.AddIgnored(flag, value_name, {variable}).on_set = [&s, flag, variable](const std::string& value,
                                                                                 const std::string& source) {
      const bool is_flag = absl::StartsWith(source, "--");
      if (!is_flag && source == variable) return;  // a scheduler that this agent starts inherits the variable
      (is_flag ? s.scheduler_flags : s.scheduler_config).push_back(absl::StrCat("--", flag, "=", value));
    };
  };
  add("listen_address", "ADDRESS", "MS_LISTEN_ADDRESS");
  add("once", "", "MS_ONCE");
  add("heartbeat_datagrams", "BOOL", "MS_HEARTBEAT_DATAGRAMS");
  add("rejoin_timeout", "SECONDS", "MS_REJOIN_TIMEOUT");
  add("max_node_failures", "N", "MS_MAX_NODE_FAILURES");
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
                      "Joins a training job. When all nodes have joined, starts the command once for each process of "
                      "this node, and stays until the job ends.");
  table.AddExample("ms-worker --standalone --local_worker_num 4 -- python3 train.py",
                   "Runs a job of four processes on this machine.");
  table.AddExample("ms-worker --sched_host node1 --worker_num 16 --local_worker_num 8 -- python3 train.py",
                   "The same line on both nodes: runs a job of 16 processes with the scheduler at node1.");
  AddCluster(table, settings);
  AddThisNode(table, settings);
  AddProcesses(table, settings);
  table.BeginGroup("Recovery");
  AddRecovery(table, &settings.enable_recovery, &settings.recovery_path, &settings.max_restarts,
              &settings.restart_scope, &settings.stalls);
  AddOutputRules(table, settings.output_rules);
  table.BeginGroup("Timeouts");
  AddTopoTimeout(table, &settings.topo_timeout).Common();
  table
      .AddUint("cluster_retry_num", &settings.cluster_retry_num, 1, 1'000'000'000,
               "Number of attempts to reach the scheduler, one every 3 s, before this agent gives up.")
      .Env({"MS_CLUSTER_RETRY_NUM"});
  AddReceiveMsgTimeout(table, &settings.receive_msg_timeout);
  AddStopTimeout(table, &settings.stop_timeout);
  AddFenceStopTimeout(table, &settings.fence_stop_timeout);
  AddLogging(table, settings);
  AddTls(table, &settings.tls);
  table.BeginGroup("Other");
  table.AddBool(
      "check", &settings.checks_start,
      "Checks settings, command, scheduler, devices and this machine, prints a line for each, and exits: with "
      "1 if a check has failed.");
  AddCheckConfig(table, &settings.check_config);
  AddSchedulersOwn(table, settings);
  AddJoin(table, settings);
  ForbidForeignWords(
      table);  // must come last: it refuses words of other launchers unless the table has a setting for them
  return table;
}

}  // namespace muster::agent
