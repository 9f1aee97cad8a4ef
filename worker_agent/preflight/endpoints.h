// The addresses in a node's own variables: those where its processes find others, and those where others find them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Returns those of common/hosts/endpoints.h that this node's processes take from the user, not from their agent.
// `serves_jax`: the agent is JAX's coordination service, and gives its own address.
std::map<std::string, std::string> EndpointsOf(const AgentSettings& settings,
                                               const std::map<std::string, std::string>& environment, bool serves_jax);

// Warns if HCCL_IF_IP and CM_WORKER_IP, which are this node's, name another machine; or if an endpoint is link-local.
std::vector<std::string> CheckOwnAddresses(const AgentSettings& settings,
                                           const std::map<std::string, std::string>& environment,
                                           const std::function<bool(const IpAddress&)>& is_local);

// The rule for the remark: can the agents of other machines meet this one at its scheduler's address?
//
//   sched_host                                 the job's processes           the remark
//
//   an address that other machines can reach   any number                    nothing
//   this host's own name                       any number                    nothing: Debian's 127.0.1.1
//   localhost, or another loopback address     no more than here, or not     nothing
//     or name of it                            known here
//                                              more than here                a remark: they may all be here
//
// Returns the remark on a scheduler's address that only this machine reaches. Empty: there is none. `addresses`: those
// of sched_host here; `slots`: this node's processes; `own_name`: this host's.
std::string LoopbackRemark(const AgentSettings& settings, const std::vector<IpAddress>& addresses, uint32_t slots,
                           const std::string& own_name);

}  // namespace muster::agent
