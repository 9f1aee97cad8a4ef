// The settled settings of ms-scheduler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/settings/cluster_settings.h"
#include "common/settings/settings.h"
#include "common/tls/tls_settings.h"

namespace muster::scheduler {

inline constexpr char kMemoryJournal[] = "memory";  // as --journal_path: no file, so no job outlives the scheduler

inline constexpr char kAnyThree[] = "any-three";  // the values of --fence_needs
inline constexpr char kAllFour[] = "all-four";

struct SchedulerSettings {
  std::string sched_host = "127.0.0.1";        // MS_SCHED_HOST
  uint16_t sched_port = 8118;                  // MS_SCHED_PORT; 0 lets the kernel choose
  std::string listen_address;                  // --listen_address; empty: sched_host where that is local, else all
  uint16_t mindspore_port = 0;                 // for MindSpore processes without an agent; 0: none
  std::string job_id = "default";              // MS_JOB_ID; used only in logs, with --once
  std::optional<uint32_t> worker_num;          // MS_WORKER_NUM
  std::optional<uint32_t> server_num;          // MS_SERVER_NUM
  std::optional<bool> enable_recovery;         // MS_ENABLE_RECOVERY
  std::string recovery_path;                   // MS_RECOVERY_PATH
  std::string journal_path;                    // a file, or kMemoryJournal; empty: see journal_choice.h
  std::optional<bool> hccl_cm_init;            // MS_HCCL_CM_INIT
  std::optional<absl::Duration> topo_timeout;  // MS_TOPO_TIMEOUT, s; negative: for ever (InfiniteDuration)
  absl::Duration node_timeout = absl::Seconds(600);         // MS_NODE_TIMEOUT: the lease
  absl::Duration receive_msg_timeout = absl::Seconds(600);  // MS_RECEIVE_MSG_TIMEOUT
  absl::Duration disconnect_grace = absl::Seconds(10);
  absl::Duration stop_timeout = absl::Seconds(30);
  std::optional<absl::Duration> fence_timeout;
  std::optional<absl::Duration> fence_stop_timeout;  // else FenceStopTimeout
  std::string fence_needs = kAnyThree;
  std::optional<absl::Duration> rejoin_timeout;  // default: topo_timeout
  std::optional<uint32_t> max_restarts;
  uint32_t max_node_failures = 3;
  std::optional<std::string> restart_scope;
  StallSettings stalls;
  absl::Duration keep_runs_for = absl::Hours(24 * 7);
  std::string on_event;  // a command for /bin/sh -c; empty: none
  std::optional<absl::Duration> heartbeat_interval;
  bool heartbeat_datagrams = true;
  bool once = false;
  TlsSettings tls;
  std::string http_address;          // HOST[:PORT], or off; empty: see listening.h
  std::string http_token_file;       // empty: no token
  std::string http_view_token_file;  // empty: none
  std::string http_names;            // "NAME,NAME": more host names that the HTTP port answers to
  std::string admin_socket;          // the Unix socket for ms-ctl; empty: see common/sys/runtime_paths.h
  std::string log_format = "text";   // text or json
  std::string log_level = "info";
  std::string log_file;  // empty: stderr
  std::string log_dir;   // ignored; accepted because msrun also passes it to the scheduler
  bool check_config = false;
};

// The table of all settings of ms-scheduler, bound to `settings`.
SettingsTable SchedulerSettingsTable(SchedulerSettings& settings);

// Checks the rules that concern several settings. A contradiction is an error. A timeout that is longer than another
// one that should exceed it is only a warning.
SettingsFindings CheckSchedulerSettings(const SchedulerSettings& settings);

// Returns the timeouts that will apply, for --check_config. They are in the order in which they should grow.
std::vector<TimeoutStep> SchedulerTimeouts(const SchedulerSettings& settings);

}  // namespace muster::scheduler
