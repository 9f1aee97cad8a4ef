// Whether the agents of other machines can meet this one at the scheduler that it was told. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// What to tell people of a scheduler's address that only this machine reaches. Empty: there is nothing to tell.
// `addresses`: what sched_host stands for here; `slots`: this node's processes; `own_name`: this host's.
std::string LoopbackRemark(const AgentSettings& settings, const std::vector<IpAddress>& addresses, uint32_t slots,
                           const std::string& own_name);

}  // namespace muster::agent
