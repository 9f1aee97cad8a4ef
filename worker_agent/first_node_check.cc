#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/sys/log.h"
#include "worker_agent/preflight/node_check.h"
#include "worker_agent/preflight/preflight.h"
#include "worker_agent/startup.h"

namespace muster::agent {

std::optional<int> RunFirstNodeCheck(const AgentSettings& settings,
                                     const std::map<std::string, std::string>& environment, Signals& signals,
                                     const ServiceManager& manager, v1::NodeInfo& node) {
  if (!ChecksNode(settings)) return std::nullopt;
  Log(Severity::kInfo, absl::StrCat("node check: ", Quoted(settings.node_check), " runs, for at most ",
                                    absl::ToInt64Seconds(settings.node_check_timeout), " s"));
  manager.Ready("the node check runs");
  NodeCheck check = MakeNodeCheck(settings.node_check, environment, settings.node_check_timeout);
  const MonotonicTime begun = Clock::System().Read().monotonic;
  while (true) {
    check.time_limit = begun + settings.node_check_timeout - Clock::System().Read().monotonic;
    const NodeCheckResult result = RunNodeCheck(check, signals.fd(), Clock::System());
    LogNodeCheck(result, Clock::System().Read().monotonic - begun);
    if (result.status.ok()) {
      AddNodeCheck(result, settings, node);
      return std::nullopt;
    }
    if (!absl::IsCancelled(result.status)) {
      Log(Severity::kError, absl::StrCat("this node takes no part: ", std::string(result.status.message()),
                                         " (fix what it reports, or start without --preflight command)"));
      return kExitRefused;
    }
    // Other signals are for processes, and none runs yet: the check begins again.
    if (const std::optional<int> code = signals.TakeEndBeforeJob()) return code;
  }
}

}  // namespace muster::agent
