// Reads and checks the addresses in variables that the user has set for this node's processes (MASTER_ADDR, CM_*,
// HCCL_IF_IP, …), and the scheduler's address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Returns the variables of common/hosts/endpoints.h that this node's processes get from the user and not from the
// agent, with their values. `serves_jax`: the agent is JAX's coordination service, so it sets that address itself.
std::map<std::string, std::string> EndpointsOf(const AgentSettings& settings,
                                               const std::map<std::string, std::string>& environment, bool serves_jax);

// Returns a warning for HCCL_IF_IP or CM_WORKER_IP if it is no address of this machine, although other nodes reach this
// node there. Also warns of an endpoint with a link-local address.
std::vector<std::string> CheckOwnAddresses(const AgentSettings& settings,
                                           const std::map<std::string, std::string>& environment,
                                           const std::function<bool(const IpAddress&)>& is_local);

// Returns a remark, a text for people, if the scheduler's address seems to be one that agents of other machines can't
// reach:
//
//   sched_host                                 the job's processes           the result
//
//   an address that other machines can reach   any number                    nothing
//   this host's own name                       any number                    nothing, even if it is Debian's 127.0.1.1
//   localhost, or another loopback address     no more than this node has,   nothing
//     or name                                    or not known here
//                                              more than this node has       a remark; all nodes may still be here
//
// `addresses`: what sched_host resolves to here. `slots`: the number of this node's processes. `own_name`: this host's
// name.
std::string LoopbackRemark(const AgentSettings& settings, const std::vector<IpAddress>& addresses, uint32_t slots,
                           const std::string& own_name);

}  // namespace muster::agent
