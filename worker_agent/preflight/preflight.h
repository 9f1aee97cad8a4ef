// --preflight host and command: checks this host before its node joins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/node/node_devices.h"
#include "worker_agent/preflight/node_check.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Runs the checks, if --preflight names host. Logs a line for each warning and error. Adds the findings to `node`, and
// the facts by which nodes are compared (common/hosts/compare.h). `own_address`: the address where peers reach this
// node; empty: not known. May block for the time limit of hccn_tool (device_addresses.h). kFailedPrecondition: a
// finding is at least as severe as --preflight_fatal, so the node must not join.
absl::Status CheckHost(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                       const NodeDevices& devices, const std::string& own_address, v1::NodeInfo& node);

// Runs the checks of --preflight host, and returns their findings. Blocks as CheckHost does.
std::vector<v1::HostFinding> FindingsOfHost(const AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment,
                                            const NodeDevices& devices, const std::string& own_address,
                                            const v1::NodeInfo& node);

// Adds the result of a node check that did not fail to `node`: a finding, and the score by which nodes are compared.
void AddNodeCheck(const NodeCheckResult& result, const AgentSettings& settings, v1::NodeInfo& node);

}  // namespace muster::agent
