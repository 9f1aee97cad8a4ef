// The addresses in a node's own variables: where its processes are to find others, and where others are to find them.
#pragma once

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

}  // namespace muster::agent
