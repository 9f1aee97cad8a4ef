// HCCL without a rank table (TensorFlow on Ascend): rank 0's process is the chief, which collects the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/settings/settings.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/launch/environment/environment.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Checks that the nodes of a round have the same --hccl_mode, as far as their entries show it. `mode` is this node's,
// "table" or "chief". The error names two nodes that differ.
absl::Status CheckSameHcclMode(const std::string& mode, const v1::PeerList& peers);

// Returns address, port and device of rank 0, the same on all nodes, since all have the same peer list. The error names
// the node that has not reported it, or two nodes that share a machine and a device.
absl::StatusOr<HcclChief> ChiefOf(const v1::PeerList& peers);

// Checks HCCL's own variables, of the environment and of --env, against the guide's rules. Warnings only, and none
// where HCCL is not in use (no --hccl_mode, no rank table).
SettingsFindings CheckHcclVariables(const AgentSettings& settings,
                                    const std::map<std::string, std::string>& environment);

inline constexpr uint32_t kHcclPorts = 16;  // from the base port on

// Returns HCCL_IF_BASE_PORT, 60000 where it is not set to a good number.
uint32_t HcclBasePort(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Returns the problems with the ports that HCCL is going to listen on: a process listens there, or the kernel may give
// one to an outgoing connection. Looks at this moment; nothing is held, since HCCL binds them itself.
std::vector<std::string> CheckHcclPorts(const AgentSettings& settings, const HostRoots& roots, uint32_t base_port);

}  // namespace muster::agent
