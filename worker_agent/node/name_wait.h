// A host name that may not be known yet: a pod's before it is ready, a node's that boots.
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

// The functions that AwaitHost needs; tests have their own.
struct NameWaitTools {
  std::function<absl::StatusOr<Addresses>()> look_up;  // as LookUp below
  std::function<bool(absl::Duration)> pause;           // false: this program has to end
  std::function<MonotonicTime()> now;
  std::function<void(const std::string&)> say;
};

// Returns the name's addresses, as soon as it is known; logs at once, and at growing intervals, that it waits for it.
// `setting` names the host. kDeadlineExceeded after `patience`; kCancelled if a pause was cut short; other errors: the
// name can't be used, whenever it is looked up.
absl::StatusOr<Addresses> AwaitHost(const std::string& setting, absl::Duration patience, const NameWaitTools& tools);

// Looks `host` up in a thread of its own, since a name server that is silent holds a look-up up for a minute. Each call
// waits for at most 3 s; kUnavailable if there is no answer by then, and the next call goes on waiting for it.
std::function<absl::StatusOr<Addresses>()> PatientLookUp(const std::string& host);

// Does AwaitHost for a name that the agent can't begin without: for as long as an agent tries to reach the scheduler,
// and a signal ends it. Nothing: `addresses` has the addresses of `host`, which `setting` names. Else the exit code;
// the reason has been logged. To be called by the main thread, before AgentLoop reads the signals.
std::optional<int> AwaitName(const AgentSettings& settings, Signals& signals, const ServiceManager& manager,
                             const std::string& setting, const std::string& host, std::vector<IpAddress>& addresses);

}  // namespace muster::agent
