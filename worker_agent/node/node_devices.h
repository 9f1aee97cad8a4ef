// The devices of this machine that this agent's processes get: chosen, and claimed.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "worker_agent/devices/device_choice.h"
#include "worker_agent/devices/device_claim.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

struct NodeDevices {
  HostRoots roots;
  DeviceChoice choice;
  DeviceClaims claims;      // hold them for as long as the agent lives
  bool has_ascend = false;  // on this machine, used or not
};

// Logs the choice and its notices. kUnavailable: another job has claimed one of them; else the settings are wrong.
absl::StatusOr<NodeDevices> TakeNodeDevices(const AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

}  // namespace muster::agent
