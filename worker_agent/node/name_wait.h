// Waits for a host name that can't be resolved yet, such as that of a pod that is not ready or of a node that boots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/net/ip_address.h"
#include "common/net/service_manager.h"
#include "worker_agent/runtime/signals.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

using Addresses = std::vector<IpAddress>;

// The functions that AwaitHost calls; tests replace them.
struct NameWaitTools {
  std::function<absl::StatusOr<Addresses>()> look_up;  // as PatientLookUp returns it
  std::function<bool(absl::Duration)> pause;           // returns false if this program must end
  std::function<MonotonicTime()> now;
  std::function<void(const std::string&)> say;
};

// Waits until the name can be resolved, and returns its addresses. While it waits, it says so: at once, and again at
// growing intervals. `setting` is the setting with the name, for messages. kDeadlineExceeded: `patience` is over.
// kCancelled: a pause returned false. Other errors: the name can never be used, for example because it is empty.
absl::StatusOr<Addresses> AwaitHost(const std::string& setting, absl::Duration patience, const NameWaitTools& tools);

// Returns a function that looks `host` up. It does so in a thread of its own, since a look-up may take a minute if the
// name server does not answer. Each call of the function waits at most 3 s. It returns kUnavailable if there is no
// answer by then; the next call waits for the same look-up.
std::function<absl::StatusOr<Addresses>()> PatientLookUp(const std::string& host);

// Does AwaitHost for the name `host`, of the setting `setting`, without which the agent can't go on. Waits as long as
// an agent tries to reach the scheduler (MS_CLUSTER_RETRY_NUM × 3 s); a signal ends the wait. Returns nullopt once
// `addresses` has the name's addresses. Otherwise logs why not, and returns the exit code. The main thread must call
// it, before AgentLoop reads the signals.
std::optional<int> AwaitName(const AgentSettings& settings, Signals& signals, const ServiceManager& manager,
                             const std::string& setting, const std::string& host, std::vector<IpAddress>& addresses);

}  // namespace muster::agent
