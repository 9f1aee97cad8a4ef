#include "scheduler/core_options.h"

#include <sys/random.h>

#include "absl/strings/escaping.h"
#include "common/base/check.h"
#include "common/base/exit_codes.h"
#include "common/base/version.h"

namespace muster::scheduler {

CoreOptions MakeCoreOptions(const SchedulerSettings& settings) {
  CoreOptions options;
  v1::JobSettings& job = options.settings;
  if (settings.worker_num) job.set_worker_num(*settings.worker_num);
  if (settings.server_num) job.set_server_num(*settings.server_num);
  if (settings.enable_recovery) job.set_enable_recovery(*settings.enable_recovery);
  if (settings.hccl_cm_init) job.set_hccl_cm_init(*settings.hccl_cm_init);
  if (settings.topo_timeout) {
    const bool is_forever = *settings.topo_timeout == absl::InfiniteDuration();
    job.set_topo_timeout_ms(is_forever ? -1 : absl::ToInt64Milliseconds(*settings.topo_timeout));
    options.topo_timeout = *settings.topo_timeout;
  }
  if (settings.max_restarts) job.set_max_restarts(*settings.max_restarts);
  if (settings.restart_scope) job.set_restart_scope(*settings.restart_scope);
  if (settings.progress_timeout) {
    job.set_progress_timeout_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(*settings.progress_timeout)));
  }
  options.keep_runs_for = settings.keep_runs_for;
  options.lease = settings.node_timeout;
  options.disconnect_grace = settings.disconnect_grace;
  options.stop_timeout = settings.stop_timeout;
  options.fence_timeout = settings.fence_timeout;
  options.rejoin_timeout = settings.rejoin_timeout;
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

int ExitCodeOf(const v1::Outcome& outcome) {
  if (outcome.succeeded()) return kExitSuccess;
  return outcome.cause().kind() == v1::Cause::NEVER_FORMED ? kExitNeverFormed : kExitJobFailed;
}

}  // namespace muster::scheduler
