// HCCL without a rank table (TensorFlow on Ascend): rank 0's process is the chief, to which all other ranks connect.
// Also the checks of HCCL's own variables and ports.
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
#include "worker_agent/launch/hccl_ports.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Checks that the nodes of a round have the same --hccl_mode, as far as their entries in the peer list show it. `mode`
// is this node's, "table" or "chief". The error names two nodes that differ.
absl::Status CheckSameHcclMode(const std::string& mode, const v1::PeerList& peers);

// Returns address, port and device of rank 0. All nodes get the same result, since all have the same peer list. The
// error names rank 0's node if that has not reported them, or two nodes that share a machine and a device.
absl::StatusOr<HcclChief> ChiefOf(const v1::PeerList& peers);

// Checks the HCCL_* variables of the environment and of --env against the rules of HCCL's guide. Returns an error for
// each of the two variables for ranges of ports that HCCL would refuse. Returns warnings about the others, unless HCCL
// is not in use (neither --hccl_mode nor a rank table is given).
SettingsFindings CheckHcclVariables(const AgentSettings& settings,
                                    const std::map<std::string, std::string>& environment);

// Returns HCCL_IF_BASE_PORT; HCCL's default, 60000, if it is not set or is no port that HCCL takes.
uint32_t HcclBasePort(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Returns the ports that the variables name. A variable with an invalid value counts as not set.
HcclPorts HcclPortsOf(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Returns warnings about the ports that HCCL will listen on: a port is in use now, or the kernel may give it to an
// outgoing connection. Does not reserve the ports, since HCCL binds them itself: they may be taken after this check.
std::vector<std::string> CheckHcclPorts(const AgentSettings& settings, const HostRoots& roots, const HcclPorts& ports);

}  // namespace muster::agent
