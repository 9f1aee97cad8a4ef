// --preflight host: this host is checked before its node joins.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/node/node_devices.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Does nothing unless --preflight names host. Logs a line for each warning and error, and puts the findings and the
// facts for the comparison of nodes into `node` (common/hosts/compare.h). `own_address`: where peers reach this node;
// empty: not known. Blocks for as long as hccn_tool may take (device_addresses.h). kFailedPrecondition:
// --preflight_fatal does not let a finding pass.
absl::Status CheckHost(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                       const NodeDevices& devices, const std::string& own_address, v1::NodeInfo& node);

}  // namespace muster::agent
