// A claim on devices of this machine, so that two agents do not give one device to their processes.
//
// A claim is an abstract Unix socket's name, which the kernel gives to one program at a time and takes back when that
// ends, in any way. Its name has the kernel's number of the device, and it holds among all users of one network
// namespace: containers with a network of their own don't see each other's. A name can be taken by any user, so a claim
// counts only if its holder could use the device: with root's or the owner's, the group's or everybody's right to the
// device's file. A name that another user holds, or an unknown holder, causes a warning, and refuses no one.
//
// A connection that asks for the holder stays in its queue, which nothing empties: after 4,096 refusals
// (net.core.somaxconn) the holder can't be found any more, and its claim no longer counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

struct DeviceClaimOptions {
  std::string kind;             // "Ascend", "NVIDIA"
  std::string folder = "/dev";  // of the devices' files; a file there that is no device is claimed by its name
  std::string job_id;           // shown to agents that are refused, and …
  int64_t now_unix_ms = 0;      // … since when this one has them
};

struct DeviceClaims {
  std::vector<UniqueFd> held;         // the claims hold for as long as these are open
  std::vector<std::string> warnings;  // for people
};

// Claims all of them or none. The error names the device and its holder.
absl::StatusOr<DeviceClaims> ClaimDevices(std::vector<uint32_t> numbers, const DeviceClaimOptions& options);

}  // namespace muster::agent
