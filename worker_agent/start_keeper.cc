#include <unistd.h>

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/fence_times.h"
#include "common/net/ip_address.h"
#include "common/sys/log.h"
#include "common/sys/runtime_paths.h"
#include "common/tls/tls_settings.h"
#include "worker_agent/startup.h"

namespace muster::agent {
namespace {

absl::StatusOr<std::unique_ptr<Keeper>> Spawn(const KeeperOptions& options, const AgentSettings& settings,
                                              std::map<std::string, std::string>& environment) {
  absl::StatusOr<WithheldPasswords> withheld = WithheldPasswords::Take(environment);
  if (!withheld.ok()) return withheld.status();
  if (!settings.tls.config.empty())
    ForbidCoreDumps();  // the keeper will get a descriptor of the key, and inherits this
  absl::StatusOr<std::unique_ptr<Keeper>> keeper = Keeper::Spawn(options);
  if (absl::Status status = withheld->Return(environment); !status.ok()) return status;
  return keeper;
}

absl::StatusOr<NodeLock> Take(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                              int wake_fd, const std::optional<ProcessMark>& mark) {
  NodeLock::Options options;
  options.folder =
      settings.recovery_path.empty() ? UserStateFolder(environment, geteuid() == 0) : settings.recovery_path;
  if (options.folder.empty()) return absl::NotFoundError("no state folder");
  options.machine = NodeLock::MachineKey();
  options.job_id = settings.job_id;
  options.scheduler = JoinHostPort(settings.sched_host, settings.sched_port);
  options.node_id = settings.node_id;
  options.wake_fd = wake_fd;
  options.mark = mark;
  return NodeLock::Take(options);
}

}  // namespace

absl::StatusOr<StartedKeeper> StartKeeper(const AgentSettings& settings,
                                          std::map<std::string, std::string>& environment) {
  StartedKeeper started;
  const absl::StatusOr<ProcessMark> mark = ProcessMark::Make();
  if (mark.ok()) {
    started.mark = *mark;
  } else {
    Log(Severity::kInfo, absl::StrCat("processes can't be marked here: ", mark.status().message(),
                                      "; if this agent and its helper processes are all killed at once, the next start "
                                      "of this node can't know whether the training processes are gone"));
  }
  KeeperOptions options;
  options.stop_signal = settings.stop_signal.value_or(SIGTERM);
  options.stop_timeout = settings.stop_timeout;
  options.fence_stop_timeout = FenceStopTimeout(settings.fence_stop_timeout, settings.stop_timeout);
  options.mark = started.mark;
  options.isolates_pids = settings.isolate == kIsolatePids;
  if (!settings.output_rules.empty()) {
    auto rules = OutputRules::Compile(settings.output_rules);
    if (!rules.ok()) return rules.status();
    options.rules = *std::move(rules);
  }
  absl::StatusOr<std::unique_ptr<Keeper>> keeper = Spawn(options, settings, environment);
  if (!keeper.ok()) return keeper.status();
  started.keeper = *std::move(keeper);
  return started;
}

absl::StatusOr<NodeLock> TakeNodeLock(const AgentSettings& settings,
                                      const std::map<std::string, std::string>& environment, int wake_fd,
                                      const std::optional<ProcessMark>& mark, Keeper& keeper) {
  absl::StatusOr<NodeLock> lock = Take(settings, environment, wake_fd, mark);
  if (lock.ok()) {
    if (absl::Status held = keeper.HoldLock(lock->fd()); !held.ok()) lock = std::move(held);
  }
  if (!lock.ok()) {
    Log(Severity::kWarning,
        absl::StrCat("no lock for this node, so it is not known whether its former start has ended: ",
                     std::string(lock.status().message())));
  }
  return lock;
}

}  // namespace muster::agent
