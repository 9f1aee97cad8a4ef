// The wait for a name that the agent can't begin without; a signal ends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "common/net/service_manager.h"
#include "worker_agent/runtime/signals.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Waits until what `host`, which `setting` names, stands for is known, as long as an agent tries to reach the
// scheduler. Nothing: it is in `addresses`. Else the code to end with; why has been logged. To be called by the main
// thread, before AgentLoop reads the signals.
std::optional<int> AwaitName(const AgentSettings& settings, Signals& signals, const ServiceManager& manager,
                             const std::string& setting, const std::string& host, std::vector<IpAddress>& addresses);

}  // namespace muster::agent
