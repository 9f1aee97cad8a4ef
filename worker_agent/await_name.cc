#include "worker_agent/await_name.h"

#include <poll.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/sys/log.h"
#include "common/sys/wait.h"
#include "worker_agent/core/messages.h"
#include "worker_agent/node/name_wait.h"

namespace muster::agent {

std::optional<int> AwaitName(const AgentSettings& settings, Signals& signals, const ServiceManager& manager,
                             const std::string& setting, const std::string& host, std::vector<IpAddress>& addresses) {
  int end_signal = 0;
  NameWaitTools tools;
  tools.look_up = PatientLookUp(host);
  tools.now = [] { return Clock::System().Read().monotonic; };
  tools.say = [&](const std::string& text) {
    Log(Severity::kInfo, text);
    manager.Ready(absl::StrCat("waiting until the name ", host, " is known"));
  };
  tools.pause = [&](absl::Duration pause) {
    WaitFor(signals.fd(), POLLIN, pause);
    while (const std::optional<int> signal = signals.Take()) {
      if (!Signals::IsForwarded(*signal)) end_signal = *signal;
    }
    return end_signal == 0;
  };
  absl::StatusOr<Addresses> found = AwaitHost(setting, settings.cluster_retry_num * absl::Seconds(3), tools);
  if (found.ok()) {
    addresses = *std::move(found);
    return std::nullopt;
  }
  if (absl::IsCancelled(found.status())) {
    Log(Severity::kInfo, absl::StrCat("got ", NameOfSignal(end_signal), " before the job had begun: ending"));
    return kExitSignalBase + end_signal;
  }
  Log(Severity::kError, std::string(found.status().message()));
  return absl::IsDeadlineExceeded(found.status()) ? kExitUnreachable : kExitUsage;
}

}  // namespace muster::agent
