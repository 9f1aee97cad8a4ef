#include "scheduler/core_options.h"

#include <sys/random.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "common/base/check.h"
#include "common/base/fence_times.h"
#include "common/base/version.h"

namespace muster::scheduler {

namespace {

// Sorts the given settings into rules and defaults; see MakeCoreOptions.
class Sorter {
 public:
  Sorter(const std::map<std::string, std::string>& sources, bool is_once, OwnSettings& own)
      : sources_(sources), is_once_(is_once), own_(own) {}

  // Returns the group that this flag's value belongs to.
  v1::JobSettings& For(const std::string& flag) {
    const auto source = sources_.find(flag);
    if (source == sources_.end()) return own_.rules;
    own_.sources[flag] = source->second;
    const bool is_from_environment = !absl::StartsWith(source->second, "--") && !absl::StrContains(source->second, ':');
    return is_from_environment && !is_once_ ? own_.defaults : own_.rules;
  }

 private:
  const std::map<std::string, std::string>& sources_;
  const bool is_once_;
  OwnSettings& own_;
};

int64_t Milliseconds(absl::Duration duration) {  // negative: for ever
  return duration == absl::InfiniteDuration() ? -1 : absl::ToInt64Milliseconds(duration);
}

}  // namespace

CoreOptions MakeCoreOptions(const SchedulerSettings& settings, const std::map<std::string, std::string>& sources) {
  CoreOptions options;
  Sorter sorter(sources, settings.once, options.own);
  if (settings.worker_num) sorter.For("worker_num").set_worker_num(*settings.worker_num);
  if (settings.server_num) sorter.For("server_num").set_server_num(*settings.server_num);
  if (settings.enable_recovery) sorter.For("enable_recovery").set_enable_recovery(*settings.enable_recovery);
  if (settings.hccl_cm_init) sorter.For("hccl_cm_init").set_hccl_cm_init(*settings.hccl_cm_init);
  if (settings.topo_timeout) {
    sorter.For("topo_timeout").set_topo_timeout_ms(Milliseconds(*settings.topo_timeout));
    options.topo_timeout = *settings.topo_timeout;
  }
  if (settings.max_restarts) sorter.For("max_restarts").set_max_restarts(*settings.max_restarts);
  if (settings.restart_scope) sorter.For("restart_scope").set_restart_scope(*settings.restart_scope);
  const StallSettings& stalls = settings.stalls;
  if (stalls.progress_timeout) {
    sorter.For("progress_timeout")
        .set_progress_timeout_ms(static_cast<uint64_t>(Milliseconds(*stalls.progress_timeout)));
  }
  if (stalls.first_progress_timeout) {
    sorter.For("first_progress_timeout")
        .set_first_progress_timeout_ms(static_cast<uint64_t>(Milliseconds(*stalls.first_progress_timeout)));
  }
  if (stalls.action) sorter.For("stall_action").set_stall_action(*stalls.action);
  options.keep_runs_for = settings.keep_runs_for;
  options.lease = settings.node_timeout;
  options.disconnect_grace = settings.disconnect_grace;
  options.stop_timeout = settings.stop_timeout;
  options.fence_timeout = settings.fence_timeout;
  options.fence_stop_timeout = FenceStopTimeout(settings.fence_stop_timeout, settings.stop_timeout);
  options.fence_needs_all_four = settings.fence_needs == kAllFour;
  options.rejoin_timeout = settings.rejoin_timeout;
  options.max_node_failures = settings.max_node_failures;
  options.heartbeat_interval = settings.heartbeat_interval;
  options.is_once = settings.once;
  options.version = kVersion;
  return options;
}

std::string NewClusterId() {
  std::string bytes(8, '\0');
  const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
  MUSTER_CHECK(got == static_cast<ssize_t>(bytes.size()), "the kernel gives random bytes");
  return absl::BytesToHexString(bytes);
}

}  // namespace muster::scheduler
