// Chooses the devices of this machine for this agent's processes, and claims them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/devices/device_choice.h"
#include "worker_agent/devices/device_claim.h"
#include "worker_agent/devices/kernel_log.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

struct NodeDevices {
  HostRoots roots;
  DeviceChoice choice;
  DeviceClaims claims;      // must live as long as the agent
  bool has_ascend = false;  // this machine has Ascend devices, used or not
};

// Chooses and claims the devices; logs notices and warnings. kUnavailable: another job has claimed a device. Any other
// error: the settings are wrong.
absl::StatusOr<NodeDevices> TakeNodeDevices(const AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

// Returns the numbers of the devices that this agent's processes use (DevicesInUse).
std::vector<uint32_t> UsedDevices(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                                  const NodeDevices& devices);

// Opens the kernel's log for faults of these devices. Knows of no faults if they are no NVIDIA devices.
KernelLog OpenKernelLog(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                        const NodeDevices& devices);

}  // namespace muster::agent
