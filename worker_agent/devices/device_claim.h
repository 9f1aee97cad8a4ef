// A claim on devices of this machine, so that two agents do not give one device to their processes.
//
// To claim a device, the agent listens on an abstract Unix socket with the kernel's number of the device in its name.
// The kernel gives such a name to one program at a time, and frees it when that program ends in any way. All users of
// one network namespace share the names; containers with networks of their own don't see each other's claims.
//
// Any user can take any name. So a claim counts only if its holder may use the device: if it is root, or the owner,
// group or mode of the device's file lets it write there. If the holder may not, or is not known, the claim only
// causes a warning.
//
// An agent that finds a name taken connects to it to learn the holder. Nothing accepts these connections: after 4,096
// of them (net.core.somaxconn) the queue is full, the holder can't be found any more, and its claim no longer counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

struct DeviceClaimOptions {
  std::string kind;             // "Ascend", "NVIDIA"
  std::string folder = "/dev";  // of the devices' files; a file that is no device (in tests) is claimed by its path
  std::string job_id;           // this agent's job, which other agents name when they find the device claimed
  int64_t now_unix_ms = 0;      // the time of the claim, which those agents name, too
};

struct DeviceClaims {
  std::vector<UniqueFd> held;         // closing one ends its claim
  std::vector<std::string> warnings;  // for people
};

// Claims the devices with these numbers. Devices that can't be claimed but may be used cause warnings. On an error,
// which names a device that another agent uses and its holder, nothing stays claimed.
absl::StatusOr<DeviceClaims> ClaimDevices(std::vector<uint32_t> numbers, const DeviceClaimOptions& options);

}  // namespace muster::agent
