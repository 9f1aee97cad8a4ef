// Facts about the machine that the agent runs on: its id, devices and addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/ip_address.h"

namespace muster::agent {

// Returns the machine's id. Agents have the same id if they run since the same boot of a host and in the same network
// namespace: two containers with networks of their own on one host are two machines. Host names don't matter. The id is
// 16 hexadecimal digits of a hash of /proc/sys/kernel/random/boot_id and the namespace's device and inode. With `name`
// (--machine) it is "name:NAME".
absl::StatusOr<std::string> MachineId(const std::string& name);

// Computes the hash for MachineId. Pure.
std::string HashMachine(const std::string& boot_id, uint64_t namespace_device, uint64_t namespace_inode);

struct Device {
  uint32_t number = 0;    // 3 for /dev/davinci3 or /dev/nvidia3
  uint32_t index = 0;     // its number in the variable of visible devices: NVIDIA counts from 0 without gaps
  uint32_t position = 0;  // its place among the visible devices: a process opens it by this number
};

struct Devices {
  std::string kind;          // "Ascend", "NVIDIA" or "CPU"
  uint32_t count = 1;        // at least 1
  std::vector<Device> list;  // the visible ones, in their order; empty: a CPU, or UUIDs name the visible ones
};

// Returns the devices that --local_worker_num=auto counts: Ascend devices (davinci0, davinci1, …) if there are any,
// else NVIDIA devices (nvidia0, …), else a count of 1 for the CPU. ASCEND_RT_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES
// limit them, as they do for the frameworks. `device_folder` is /dev, except in tests. Returns at most 1,024 devices,
// the most slots that a node can have.
Devices FindDevices(const std::string& device_folder, const std::map<std::string, std::string>& environment);

// Returns ASCEND_RT_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES; for the kind "CPU" an empty text.
std::string VisibleDevicesVariable(const std::string& kind);

struct InterfaceAddress {
  std::string name;  // as getifaddrs shows it; for an IPv4 address with a label that is the label (eth0:1)
  IpAddress address;
};

// Returns the addresses of all interfaces that are up, in the order of getifaddrs.
std::vector<InterfaceAddress> InterfaceAddresses();

// Returns the addresses that this host's own name resolves to, in the resolver's order. nullopt: it has none, or the
// resolver has not answered within `limit`; the look-up then runs on in a thread of its own.
std::optional<std::vector<IpAddress>> ResolveOwnName(absl::Duration limit);

// Returns the addresses of all interfaces that are up, loopback last.
std::vector<IpAddress> LocalAddresses();

}  // namespace muster::agent
