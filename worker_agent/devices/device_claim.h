// A claim on devices of this machine, so that two agents do not give one device to their processes.
//
// A claim is an abstract Unix socket's name, which the kernel gives to one program at a time and takes back when that
// ends, however it ends. It is named by the kernel's number of the device, and holds among all users of one network
// namespace: containers with a network of their own don't see each other's. A name can be taken by any user, so a
// claim counts only if its holder could use the device: with root's or the owner's, the group's or everybody's right to
// the device's file. What somebody else holds, or nobody knows who, is warned of, and refuses nobody.
//
// Who asks stays in the holder's queue of connections, which nobody empties: after 4,096 refusals (net.core.somaxconn)
// the holder can't be told any more, and its claim no longer counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

struct DeviceClaimOptions {
  std::string kind;             // "Ascend", "NVIDIA"
  std::string folder = "/dev";  // of the devices' files; what is no device file there is claimed by its name
  std::string job_id;           // told to who is refused, and …
  int64_t now_unix_ms = 0;      // … since when this one has them
};

struct DeviceClaims {
  std::vector<UniqueFd> held;         // the claims hold for as long as these are open
  std::vector<std::string> warnings;  // for people
};

// All of them or none. The error names the device, and who has it.
absl::StatusOr<DeviceClaims> ClaimDevices(std::vector<uint32_t> numbers, const DeviceClaimOptions& options);

}  // namespace muster::agent
