// The facts of the machine that the agent runs on.
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

// Returns an id that is equal for all agents that share a boot and a network namespace, different otherwise: two
// containers with networks of their own on one host are two machines, and host names decide nothing. 16 hexadecimal
// digits, drawn from /proc/sys/kernel/random/boot_id and the namespace's device and inode; with `name` (--machine) it
// is "name:NAME".
absl::StatusOr<std::string> MachineId(const std::string& name);

// The pure part of it.
std::string HashMachine(const std::string& boot_id, uint64_t namespace_device, uint64_t namespace_inode);

struct Device {
  uint32_t number = 0;    // of /dev/davinci3, /dev/nvidia3
  uint32_t index = 0;     // its number in the variable of visible devices: NVIDIA counts those that are there
  uint32_t position = 0;  // among those that are visible to this program: a process of it opens it by this number
};

struct Devices {
  std::string kind;    // "Ascend", "NVIDIA" or "CPU"
  uint32_t count = 1;  // at least 1
  std::vector<Device>
      list;  // those that are visible, as they are counted; empty: a CPU, or they have no numbers (UUIDs)
};

// Returns the devices that --local_worker_num=auto counts: Ascend devices (davinci0, davinci1, …), else NVIDIA ones
// (nvidia0, …), else one process on the CPU. ASCEND_RT_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES narrow the number, as
// they do for the frameworks. `device_folder` is /dev. At most 1,024 devices.
Devices FindDevices(const std::string& device_folder, const std::map<std::string, std::string>& environment);

// Returns ASCEND_RT_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES; for a CPU: none.
std::string VisibleDevicesVariable(const std::string& kind);

struct InterfaceAddress {
  std::string name;  // as getifaddrs has it: an IPv4 address with a label has that one (eth0:1)
  IpAddress address;
};

// Returns all that are up, in the order of getifaddrs.
std::vector<InterfaceAddress> InterfaceAddresses();

// Returns the addresses of this host's own name, in the resolver's order; nullopt: none, or not known within `limit`.
// The look-up may run on in a thread that is left behind.
std::optional<std::vector<IpAddress>> ResolveOwnName(absl::Duration limit);

// Returns the addresses of all interfaces that are up, loopback last.
std::vector<IpAddress> LocalAddresses();

}  // namespace muster::agent
