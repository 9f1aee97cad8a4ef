#include "scheduler/scheduler_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/fence_times.h"
#include "common/base/limits.h"
#include "common/settings/cluster_settings.h"
#include "common/settings/foreign_words.h"
#include "common/settings/sched_address.h"

namespace muster::scheduler {
namespace {

absl::Duration Heartbeat(const SchedulerSettings& s) { return s.heartbeat_interval.value_or(kDefaultHeartbeat); }

absl::Duration TopoTimeout(const SchedulerSettings& s) { return s.topo_timeout.value_or(kDefaultTopoTimeout); }

absl::Duration FenceStop(const SchedulerSettings& s) { return FenceStopTimeout(s.fence_stop_timeout, s.stop_timeout); }

// Returns the fence's time once a spare stands by. Context::SpareFence knows the number of agents, too.
absl::Duration Fence(const SchedulerSettings& s) {
  return s.fence_timeout.value_or(SpareFence(FenceStop(s), Heartbeat(s)));
}

void AddCluster(SettingsTable& table, SchedulerSettings& s) {
  table.BeginGroup("Cluster");
  AddSchedAddress(table, &s.sched_host, &s.sched_port, /*may_be_zero=*/true,
                  {"Host name or address at which the agents reach this scheduler, with or without its port.",
                   "Port to listen on."})
      .Common();
  table
      .AddString("listen_address", &s.listen_address, "Address to listen on, if it is not the one that the agents use.")
      .Value("ADDRESS")
      .Default("sched_host if this machine has that address, else all addresses")
      .Env({"MS_LISTEN_ADDRESS"})
      .Common();
  table
      .AddPort("mindspore_port", &s.mindspore_port,
               "Port at which MindSpore processes can register without an agent (their MS_SCHED_PORT). Needs "
               "MS_WORKER_NUM.")
      .Range("1024 to 65535, or 0 for none")
      .Env({"MS_MINDSPORE_PORT"});
  AddJobId(table, &s.job_id).help =
      "No effect: this scheduler serves jobs of any name. It is accepted because ms-worker may use the same config "
      "file.";
  AddWorkerNum(table, &s.worker_num).Common().help =
      "Number of workers of each job, over all nodes. Nodes with another number are refused. Without --once, the "
      "environment variable is only a default for nodes that set no number.";
  AddServerNum(table, &s.server_num);
  AddHcclCmInit(table, &s.hccl_cm_init);
  table
      .AddBool("once", &s.once,
               "Serves one job and ends with it. Exit code: 0 if it succeeded, 1 if it failed, 12 if it never formed.")
      .Env({"MS_ONCE"})
      .Common();
}

void AddTimeouts(SettingsTable& table, SchedulerSettings& s) {
  table.BeginGroup("Timeouts");
  AddTopoTimeout(table, &s.topo_timeout).Common();
  table
      .AddSeconds("node_timeout", &s.node_timeout, absl::Milliseconds(100), kMaxTimeout,
                  "Time of silence after which a connected node is lost. At least three heartbeats.")
      .Env({"MS_NODE_TIMEOUT"})
      .Common();
  table
      .AddOptionalSeconds("heartbeat_interval", &s.heartbeat_interval, absl::Milliseconds(20), kMaxTimeout, false,
                          "Time between two heartbeats of an agent.")
      .Env({"MS_HEARTBEAT_INTERVAL"})
      .Default(absl::StrCat(ShowDuration(kDefaultHeartbeat), ", 5 s above 1,000 agents"));
  table
      .AddBool(
          "heartbeat_datagrams", &s.heartbeat_datagrams,
          "Accepts heartbeats as UDP datagrams at sched_port; they cost less than TCP. If UDP is blocked, agents send "
          "heartbeats over their TCP connections.")
      .Env({"MS_HEARTBEAT_DATAGRAMS"});
  table
      .AddSeconds("disconnect_grace", &s.disconnect_grace, absl::ZeroDuration(), kMaxTimeout,
                  "Time that a node may take to come back after its connection broke. After this time it is lost.")
      .Env({"MS_DISCONNECT_GRACE"});
  AddStopTimeout(table, &s.stop_timeout);
  AddFenceStopTimeout(table, &s.fence_stop_timeout);
  table
      .AddOptionalSeconds(
          "fence_timeout", &s.fence_timeout, absl::Milliseconds(100), absl::Milliseconds(kMaxFenceMs), false,
          "Time after a lost node's last heartbeat, after which its ranks may start elsewhere. Its own processes have "
          "ended by then.")
      .Env({"MS_FENCE_TIMEOUT"})
      .Default(absl::StrCat("off, but ", ShowDuration(Fence(SchedulerSettings())), " or more once a spare stands by"));
  table
      .AddChoice(
          "fence_needs", &s.fence_needs, {std::string(kAnyThree), std::string(kAllFour)},
          "Nodes that fence_timeout applies to. any-three: nodes that end their processes even if any three of the "
          "four helper processes die. all-four: nodes that end them even if all four die at once (--isolate pid, or an "
          "agent that is the first process of a container). Ranks of other nodes wait for the node or ms-ctl fence.")
      .Env({"MS_FENCE_NEEDS"});
  AddReceiveMsgTimeout(table, &s.receive_msg_timeout).help = "No effect on ms-scheduler.";
}

void AddLoggingAndSecurity(SettingsTable& table, SchedulerSettings& s) {
  table.BeginGroup("Logging");
  AddLogFormat(table, &s.log_format);
  AddLogLevel(table, &s.log_level);
  table.AddString("log_file", &s.log_file, "File to log to. Its folder must exist.")
      .Value("FILE")
      .Absolute()
      .Default("standard error")
      .Env({"MS_LOG_FILE"})
      .Common();
  // --log_dir has no effect on the scheduler. msrun passes the same command line to every ms-worker, including the one
  // that becomes the scheduler (MS_ROLE=MS_SCHED).
  table.AddString("log_dir", &s.log_dir, "").Value("FOLDER").Env({"MS_LOG_DIR"}).Hide();

  AddTls(table, &s.tls);
  table.AddString("admin_socket", &s.admin_socket, "Unix socket over which ms-ctl on this machine may change jobs.")
      .Value("PATH")
      .Default("in the runtime folder of this user")
      .Env({"MS_ADMIN_SOCKET"});

  table.BeginGroup("Monitoring");
  table
      .AddString(
          "http_address", &s.http_address,
          "Address of the page for browsers, health checks and metrics: HTTP, or HTTPS with tls_config. An address "
          "beyond loopback needs tls_config or http_token_file. off: none.")
      .Value("HOST[:PORT]")
      .Env({"MS_HTTP_ADDRESS"})
      .Default("127.0.0.1 at sched_port + 2; off with --once")
      .Common();
  table
      .AddString("http_token_file", &s.http_token_file,
                 "File with a token that lets HTTP clients without a certificate see and change everything.")
      .Value("FILE")
      .Env({"MS_HTTP_TOKEN_FILE"});
  table
      .AddString("http_view_token_file", &s.http_view_token_file,
                 "File with a token that lets HTTP clients without a certificate see everything, but change nothing.")
      .Value("FILE")
      .Env({"MS_HTTP_VIEW_TOKEN_FILE"});
  table.AddString("http_names", &s.http_names, "More host names that HTTP requests may be addressed to.")
      .Value("NAME[,NAME]")
      .Env({"MS_HTTP_NAMES"});
}

// Ignores settings of the worker in a shared config file, MindSpore's environment or one command line for both roles.
void AddWorkersOwn(SettingsTable& table) {
  table.AddIgnored("role", "ROLE", {"MS_ROLE"});
  table.AddIgnored("node_id", "ID", {"MS_NODE_ID"});
  table.AddIgnored("worker_ip", "ADDRESS", {"MS_WORKER_IP"});
  table.AddIgnored("local_worker_num", "N", {"MS_LOCAL_WORKER", "MS_LOCAL_WORKER_NUM"}).Alias({"nproc_per_node"});
  table.AddIgnored("devices", "auto|none|N-M", {"MS_DEVICES"});
  table.AddIgnored("expect", "REGEX|auto", {"MS_EXPECT"});
  table.AddIgnored("fail_on", "REGEX", {"MS_FAIL_ON"});
  table.AddIgnored("per_node", "", {"MS_PER_NODE"});
  table.AddIgnored("per_job", "", {"MS_PER_JOB"});
  table.AddIgnored("allow_exec", "", {"MS_ALLOW_EXEC"});
  table.AddIgnored("cluster_retry_num", "N", {"MS_CLUSTER_RETRY_NUM"});
  table.AddIgnored("node_rank", "N", {"MS_NODE_RANK", "NODE_RANK"});
  table.AddIgnored("machine", "NAME", {"MS_MACHINE"});
  table.AddIgnored("label", "KEY=VALUE", {"MS_LABEL"});
  table.AddIgnored("spare", "", {"MS_SPARE"});
  table.AddIgnored("shared_job", "", {"MS_SHARED_JOB"});
  table.AddIgnored("rank_table_file", "FILE", {"RANK_TABLE_FILE"});
  table.AddIgnored("hccl_mode", "HOW", {"MS_HCCL_MODE"});
  table.AddIgnored("device_ips", "ADDRESSES", {"MS_DEVICE_IPS"});
  table.AddIgnored("super_pod", "ID", {"MS_SUPER_POD"});
  table.AddIgnored("super_device_ids", "NUMBERS", {"MS_SUPER_DEVICE_IDS"});
  table.AddIgnored("chief_port", "PORT", {"CM_CHIEF_PORT"});
  table.AddIgnored("leftover", "wait|end", {"MS_LEFTOVER"});
  table.AddIgnored("stop_signal", "SIGNAL", {"MS_STOP_SIGNAL"});
  table.AddIgnored("keep_logs", "N", {"MS_KEEP_LOGS"});
  table.AddIgnored("tail", "RANKS", {"MS_TAIL"}).Alias({"tail_worker_log"});
  table.AddIgnored("isolate", "off|pid", {"MS_ISOLATE"});
  table.AddIgnored("bind_core", "CORES", {"MS_BIND_CORE"});
  table.AddIgnored("check", "", {});
  table.AddIgnored("preflight", "CHECK", {"MS_PREFLIGHT"});
  table.AddIgnored("preflight_fatal", "LEVEL", {"MS_PREFLIGHT_FATAL"});
  table.AddIgnored("node_check", "COMMAND", {"MS_NODE_CHECK"});
  table.AddIgnored("node_check_timeout", "SECONDS", {"MS_NODE_CHECK_TIMEOUT"});
  table.AddIgnored("straggler_ratio", "NUMBER", {"MS_STRAGGLER_RATIO"});
  table.AddIgnored("exclude_stragglers", "BOOL", {"MS_EXCLUDE_STRAGGLERS"});
  table.AddIgnored("mindspore_gateway", "WHEN", {"MS_MINDSPORE_GATEWAY"});
  table.AddIgnored("torch_store", "PROGRAM", {"MS_TORCH_STORE"});
  table.AddIgnored("torch_store_peers", "NETWORKS", {"MS_TORCH_STORE_PEERS"});
  table.AddIgnored("torch_store_relay", "", {"MS_TORCH_STORE_RELAY"});
  table.AddIgnored("mpi", "KIND", {"MS_MPI"});
  table.AddIgnored("horovod", "KIND", {"MS_HOROVOD"});
  table.AddIgnored("jax", "WHEN", {"MS_JAX"});
  table.AddIgnored("lighthouse", "NAME", {"MS_LIGHTHOUSE"});
  table.AddIgnored("lighthouse_min_replicas", "N", {"MS_LIGHTHOUSE_MIN_REPLICAS"});
  table.AddIgnored("lighthouse_join_timeout", "SECONDS", {"MS_LIGHTHOUSE_JOIN_TIMEOUT"});
  table.AddIgnored("lighthouse_heartbeat_timeout", "SECONDS", {"MS_LIGHTHOUSE_HEARTBEAT_TIMEOUT"});
  table.AddIgnored("ompi_env", "", {"MS_OMPI_ENV"});
  table.AddIgnored("tf_config", "", {"MS_TF_CONFIG"});
  table.AddIgnored("print_assignment", "", {"MS_PRINT_ASSIGNMENT"});
  table.AddIgnored("python", "PATH", {"MS_PYTHON"});
  table.AddIgnored("no_python", "", {});
  table.AddIgnored("redirects", "STREAMS", {});
  table.AddIgnored("tee", "STREAMS", {});
  table.AddIgnored("port_range", "A-B", {"MS_PORT_RANGE"});
  table.AddIgnored("env", "NAME=VALUE", {});
  table.AddIgnored("torch_master_addr", "HOST", {"MASTER_ADDR"});
  table.AddIgnored("torch_master_port", "PORT", {"MASTER_PORT"});
  table.AddIgnored("with_scheduler", "", {"MS_WITH_SCHEDULER"});
  table.AddIgnored("standalone", "", {"MS_STANDALONE"});
  table.AddIgnored("from", "PLATFORM", {"MS_FROM"});
  table.AddIgnored("join", "BOOL", {});
}

// Returns the shortest useful fence timeout: the keeper needs time to end the processes, and one late heartbeat must
// not trigger the fence.
absl::Duration ShortestFence(const SchedulerSettings& s) { return FenceStop(s) + kFenceMargin + 2 * Heartbeat(s); }

void CheckFence(const SchedulerSettings& s, SettingsFindings& findings) {
  const absl::Duration shortest = ShortestFence(s);
  const std::string needs =
      absl::StrCat("fence_stop_timeout (", ShowDuration(FenceStop(s)), ") + ", ShowDuration(kFenceMargin),
                   " + 2 heartbeats of ", ShowDuration(Heartbeat(s)), " = ", ShowDuration(shortest));
  if (s.fence_timeout && *s.fence_timeout <= shortest) {
    findings.errors.push_back(absl::StrCat("fence_timeout is ", ShowDuration(*s.fence_timeout), ", but must be above ",
                                           needs, "; raise --fence_timeout or lower --fence_stop_timeout"));
  }
  if (s.fence_timeout && s.rejoin_timeout && *s.rejoin_timeout < *s.fence_timeout) {
    findings.warnings.push_back(absl::StrCat("rejoin_timeout (", ShowDuration(*s.rejoin_timeout),
                                             ") is below fence_timeout (", ShowDuration(*s.fence_timeout),
                                             "): the job fails before a spare may take over; raise --rejoin_timeout"));
  }
}

void CheckRecovery(const SchedulerSettings& s, SettingsFindings& findings) {
  if (s.enable_recovery.value_or(true)) return;  // if it is not set, the job may set it
  const auto warn = [&](const char* flag) {
    findings.warnings.push_back(
        absl::StrCat(flag, " has no effect with MS_ENABLE_RECOVERY=0; set MS_ENABLE_RECOVERY=1 or leave it out"));
  };
  if (s.max_restarts.value_or(0) > 0) warn("max_restarts");
  if (s.restart_scope) warn("restart_scope");
  if (s.rejoin_timeout) warn("rejoin_timeout");
}

}  // namespace

SettingsTable SchedulerSettingsTable(SchedulerSettings& settings) {
  SettingsTable table("ms-scheduler", "ms-scheduler [settings]",
                      "Gathers the nodes of training jobs, gives each process its rank and its peers, and watches over "
                      "them. Runs until it is stopped.");
  table.AddExample("ms-scheduler --sched_host node1", "Serves any number of jobs, at port 8118 of node1.");
  table.AddExample("ms-scheduler --sched_host node1 --once --worker_num 16",
                   "Serves one job with 16 workers, and ends with it.");
  AddCluster(table, settings);
  table.BeginGroup("Recovery");
  AddRecovery(table, &settings.enable_recovery, &settings.recovery_path, &settings.max_restarts,
              &settings.restart_scope, &settings.stalls);
  table
      .AddUint("max_node_failures", &settings.max_node_failures, 0, 1000,
               "Number of rounds within an hour that may fail on one node by its devices, network or disks. Then the "
               "node is drained if a --spare can take its place. 0: no node is drained for this.")
      .Env({"MS_MAX_NODE_FAILURES"});
  table
      .AddString("journal_path", &settings.journal_path,
                 "File on a local disk from which a restarted scheduler continues its jobs. memory: no file.")
      .Value("FILE")
      .Env({"MS_JOURNAL_PATH"})
      .Default(
          "recovery_path/scheduler/journal-PORT.db, or journal-PORT.db in the state folder of the user or service; "
          "memory with --once without enable_recovery")
      .Common();
  table
      .AddOptionalSeconds("rejoin_timeout", &settings.rejoin_timeout, absl::Milliseconds(100), kMaxTimeout, true,
                          "Time that the job waits for a lost node or a spare. After this time the job fails.")
      .Env({"MS_REJOIN_TIMEOUT"})
      .Default("topo_timeout")
      .Common();
  table
      .AddSeconds("keep_runs_for", &settings.keep_runs_for, absl::Seconds(1), kMaxTimeout,
                  "Time for which the scheduler remembers a run that has ended. It keeps at most 16 of each job.")
      .Env({"MS_KEEP_RUNS_FOR"});
  table
      .AddString(
          "on_event", &settings.on_event,
          "Shell command that gets JSON on its standard input when a job fails, restarts or forms late. Also when a "
          "node is lost, restarts are used up, or the certificate is about to expire.")
      .Value("COMMAND")
      .Env({"MS_ON_EVENT"})
      .Common();
  AddTimeouts(table, settings);
  AddLoggingAndSecurity(table, settings);
  table.BeginGroup("Other");
  AddCheckConfig(table, &settings.check_config);
  AddWorkersOwn(table);
  ForbidForeignWords(table);
  return table;
}

SettingsFindings CheckSchedulerSettings(const SchedulerSettings& s) {
  SettingsFindings findings;
  const absl::Duration heartbeat = Heartbeat(s);
  if (s.node_timeout < 3 * heartbeat) {
    findings.errors.push_back(
        absl::StrCat("node_timeout (MS_NODE_TIMEOUT, the lease) is ", ShowDuration(s.node_timeout),
                     ", but must be at least 3 heartbeats of ", ShowDuration(heartbeat), " = ",
                     ShowDuration(3 * heartbeat), "; raise MS_NODE_TIMEOUT or set --heartbeat_interval to ",
                     ShowDuration(absl::Floor(s.node_timeout / 3, absl::Milliseconds(1))), " or less"));
  }
  if (s.mindspore_port != 0 && !s.worker_num) {
    findings.errors.push_back(
        "mindspore_port needs to know how many MindSpore processes form a cluster; set MS_WORKER_NUM");
  }
  if (s.mindspore_port != 0 && s.mindspore_port == s.sched_port) {
    findings.errors.push_back(absl::StrCat("mindspore_port and sched_port (MS_SCHED_PORT) are both ", s.sched_port,
                                           "; the agents' port and MindSpore's must differ: correct one of them"));
  }
  if (s.disconnect_grace > s.node_timeout) {
    findings.warnings.push_back(absl::StrCat("disconnect_grace (", ShowDuration(s.disconnect_grace),
                                             ") is above node_timeout (MS_NODE_TIMEOUT, ", ShowDuration(s.node_timeout),
                                             "): a broken connection is tolerated longer than silence; lower "
                                             "--disconnect_grace"));
  }
  if (s.rejoin_timeout && *s.rejoin_timeout > TopoTimeout(s)) {
    findings.warnings.push_back(absl::StrCat("rejoin_timeout (", ShowDuration(*s.rejoin_timeout),
                                             ") is above topo_timeout (MS_TOPO_TIMEOUT, ", ShowDuration(TopoTimeout(s)),
                                             "): the scheduler waits longer for a lost node than for a new job; lower "
                                             "--rejoin_timeout or raise MS_TOPO_TIMEOUT"));
  }
  CheckFence(s, findings);
  CheckRecovery(s, findings);
  return findings;
}

std::vector<TimeoutStep> SchedulerTimeouts(const SchedulerSettings& s) {
  const absl::Duration heartbeat = std::min(Heartbeat(s), s.node_timeout / 3);
  const std::string fence_meaning =
      s.fence_timeout
          ? "after a node's last heartbeat its ranks may start elsewhere; above fence_stop_timeout + 5 s + 2 heartbeats"
          : "only once a spare stands by: after a node's last heartbeat its ranks may start elsewhere";
  return {
      {"heartbeat", heartbeat, "agents report this often; at most a third of node_timeout"},
      {"disconnect_grace", s.disconnect_grace, "a broken connection becomes a lost node; below node_timeout"},
      {"stop_timeout", s.stop_timeout, "from the stop signal to SIGKILL"},
      {"fence_stop_timeout", FenceStop(s), "the same when the fence ends processes"},
      {"fence_timeout", Fence(s), fence_meaning},
      {"scheduler away", Fence(s) - FenceStop(s) - kFenceMargin,
       "processes with an armed fence end if no scheduler answers for so long: fence_timeout - fence_stop_timeout - 5 "
       "s"},
      {"node_timeout", s.node_timeout, "the lease: connected but silent becomes a lost node; at least 3 heartbeats"},
      {"receive_msg_timeout", s.receive_msg_timeout, "a request without an answer is given up"},
      {"rejoin_timeout", s.rejoin_timeout.value_or(TopoTimeout(s)),
       "a lost node is waited for; not above topo_timeout"},
      {"topo_timeout", TopoTimeout(s), "all nodes must have joined"},
  };
}

}  // namespace muster::scheduler
