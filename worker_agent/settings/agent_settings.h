// The settings of ms-worker, as parsed from flags, variables and the config file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/settings/cluster_settings.h"
#include "common/settings/settings.h"
#include "common/settings/syntax.h"
#include "common/tls/tls_settings.h"
#include "worker_agent/output_rules/output_rules.h"

namespace muster::agent {

inline constexpr char kIsolateOff[] = "off";  // --isolate
inline constexpr char kIsolatePids[] = "pid";
inline constexpr char kLeftoverWait[] = "wait";  // --leftover
inline constexpr char kLeftoverEnd[] = "end";

struct AgentSettings {
  std::string sched_host = "127.0.0.1";  // MS_SCHED_HOST
  uint16_t sched_port = 8118;            // MS_SCHED_PORT
  std::string job_id = "default";        // MS_JOB_ID
  std::string from;                      // a platform of platform/table.cc, or "auto"; empty: --from is not given
  std::vector<std::string> from_lines;   // lines for the log about the settings that the platform gave
  std::string role = "MS_WORKER";        // MS_ROLE: MS_WORKER, MS_PSERVER (MS_SERVER), MS_SCHED
  std::string node_id;                   // MS_NODE_ID
  std::optional<uint32_t> worker_num;    // MS_WORKER_NUM
  std::optional<uint32_t> server_num;    // MS_SERVER_NUM
  std::string worker_ip;                 // MS_WORKER_IP; empty: the local address from which the scheduler is reached
  std::string local_worker_num = "1";    // MS_LOCAL_WORKER; a number or "auto"
  std::string devices;                   // "auto", "none" or numbers, "0-3"; empty: not given
  bool per_node = false;
  bool per_job = false;
  std::string leftover;                   // empty: not given, the same as kLeftoverWait
  bool allows_exec = false;               // --allow_exec: the command may run commands on the other nodes
  bool allows_plain_exec = false;         // --allow_exec=insecure: it may do so without TLS
  std::string preflight_fatal = "error";  // "warning", "error": the least severe finding that stops a node's join
  std::string preflight;   // of "host", "command", "ring": the checks before the start; empty, "none": no checks
  std::string node_check;  // the command of --preflight command, for /bin/sh -c
  absl::Duration node_check_timeout = absl::Minutes(5);
  double straggler_ratio = 2;              // a node is slow if its score is over so many times the median
  bool excludes_stragglers = false;        // a slow node gives its place to a spare
  std::string mindspore_gateway = "auto";  // auto, on, off
  std::string torch_store = "auto";        // auto, agent, rank0: what serves PyTorch's store
  std::string torch_store_peers;           // networks that an agent's store serves besides the round's machines
  std::optional<bool> torch_store_relay;   // processes reach it through their agents; nullopt: only with --require_tls
  std::string mpi = "auto";                // auto, pmix, pmi1, none: how this agent launches MPI programs
  std::string lighthouse;                  // the name of torchft's lighthouse that this agent serves; empty: none
  uint32_t lighthouse_min_replicas = 1;
  absl::Duration lighthouse_join_timeout = absl::Seconds(60);
  absl::Duration lighthouse_heartbeat_timeout = absl::Seconds(5);
  std::string jax = "auto";             // auto, on, auto-detect, none: whether the agent is JAX's coordination service
  std::string horovod = "auto";         // auto, gloo, mpi, none: how Horovod's processes find each other
  bool ompi_env = false;                // OMPI_COMM_WORLD_* for the processes
  bool tf_config = false;               // TF_CONFIG for the processes
  std::string python;                   // the program that runs a .py file or a module; empty: the first in PATH
  bool prints_assignment = false;       // joins without a command
  bool no_python = false;               // a .py file is started directly
  std::optional<bool> enable_recovery;  // MS_ENABLE_RECOVERY
  std::string recovery_path;            // MS_RECOVERY_PATH
  std::optional<bool> hccl_cm_init;     // MS_HCCL_CM_INIT
  std::optional<absl::Duration> topo_timeout;  // MS_TOPO_TIMEOUT, s; negative: InfiniteDuration
  uint32_t cluster_retry_num = 610;            // MS_CLUSTER_RETRY_NUM, tries 3 s apart
  absl::Duration receive_msg_timeout = absl::Seconds(600);
  std::optional<int64_t> node_rank;  // MS_NODE_RANK, NODE_RANK; nullopt: not set, or negative (msrun's -1)
  std::string machine;               // --machine NAME; empty: boot id and network namespace identify it
  std::vector<std::string> labels;   // each --label a=x: the parts of the label path
  bool spare = false;
  bool shared_job = false;      // the job may have nodes of other users
  std::string rank_table_file;  // RANK_TABLE_FILE
  std::string hccl_mode;   // "table": the agent writes rank tables; "chief": ranks connect to rank 0; empty: neither
  std::string device_ips;  // see device_words.h
  std::string super_pod;   // this machine's super pod
  std::string super_device_ids;  // see device_words.h
  uint16_t chief_port = 60000;   // CM_CHIEF_PORT
  std::optional<uint32_t> max_restarts;
  std::optional<std::string> restart_scope;
  StallSettings stalls;
  OutputRuleTexts output_rules;  // --expect, --fail_on
  std::string isolate = kIsolateOff;
  std::optional<int> stop_signal;  // nullopt: SIGTERM; if SIGINT ends the agent, SIGINT comes first
  absl::Duration stop_timeout = absl::Seconds(30);
  std::optional<absl::Duration> fence_stop_timeout;  // else FenceStopTimeout
  std::string log_dir;
  uint32_t keep_logs = 10;                       // the number of a job's runs that keep their logs in log_dir; 0: all
  std::optional<std::vector<NumberRange>> tail;  // the ranks to show live
  std::string redirects = "0";                   // torchrun's flag: with 3, log_dir must be set
  std::string tee = "0";                         // torchrun's flag: 3 shows all ranks live, unless tail is set
  CoreBinding bind_core;
  std::optional<NumberRange> port_range;
  std::map<std::string, std::string> env;  // --env N=V, repeated
  std::string master_addr;                 // --torch_master_addr, MASTER_ADDR
  std::string master_port;                 // --torch_master_port, MASTER_PORT
  TlsSettings tls;
  bool with_scheduler = false;
  bool names_no_scheduler = false;  // sched_host was not set, so it is the default
  bool standalone = false;
  std::string log_format = "text";
  std::string log_level = "info";
  bool check_config = false;
  bool checks_start = false;         // --check
  std::vector<std::string> command;  // the words after "--"
  // Flags of ms-scheduler, such as "--node_timeout=60", for a scheduler that this agent starts: those of the command
  // line, and those of --config.
  std::vector<std::string> scheduler_flags;
  std::vector<std::string> scheduler_config;
  std::vector<std::string> remarks;  // on settings that have no effect; CheckAgentSettings makes them warnings
};

// Returns the table of all settings of ms-worker. Parsing with it fills in `settings`, except `command`.
SettingsTable AgentSettingsTable(AgentSettings& settings);

// True if --mpi names a family of MPI libraries (pmix, pmi1).
bool IsMpiNamed(const AgentSettings& settings);
bool IsJaxNamed(const AgentSettings& settings);  // on or auto-detect

// True if --preflight names the check: host, command, ring.
bool ChecksHost(const AgentSettings& settings);
bool ChecksNode(const AgentSettings& settings);
bool ChecksRing(const AgentSettings& settings);

// Checks rules on several settings together, and warns of settings that have no effect.
SettingsFindings CheckAgentSettings(const AgentSettings& settings);

}  // namespace muster::agent
