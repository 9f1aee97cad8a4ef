// The addresses in a node's own variables: where its processes are to find others, and where others are to find them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Those of common/hosts/endpoints.h that this node's processes take from the user, not from their agent. `serves_jax`:
// the agent is JAX's coordination service, and tells its own address.
std::map<std::string, std::string> EndpointsOf(const AgentSettings& settings,
                                               const std::map<std::string, std::string>& environment, bool serves_jax);

// Warnings: HCCL_IF_IP and CM_WORKER_IP are this node's, and name another machine; or an endpoint is link-local.
std::vector<std::string> CheckOwnAddresses(const AgentSettings& settings,
                                           const std::map<std::string, std::string>& environment,
                                           const std::function<bool(const IpAddress&)>& is_local);

// Whether the agents of other machines can meet this one at the scheduler that it was told.
//
//   sched_host                                 the job's processes           what is told
//
//   an address that other machines can reach   any number                    nothing
//   this host's own name                       any number                    nothing: Debian's 127.0.1.1
//   localhost, or another loopback address     no more than here, or not     nothing
//     or name of it                            known here
//                                              more than here                a remark: they may all be here
//
// What to tell people of a scheduler's address that only this machine reaches. Empty: there is nothing to tell.
// `addresses`: what sched_host stands for here; `slots`: this node's processes; `own_name`: this host's.
std::string LoopbackRemark(const AgentSettings& settings, const std::vector<IpAddress>& addresses, uint32_t slots,
                           const std::string& own_name);

}  // namespace muster::agent
