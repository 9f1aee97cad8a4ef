// Finds the CPUs that are near a device: those of its NUMA node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker_agent/machine/host_roots.h"

namespace muster::agent {

// Returns the CPU numbers, rising. Empty: not known, or the machine has only one NUMA node. `kind` is "Ascend" or
// "NVIDIA". Looks in sysfs for the device's name in any class (class/*/davinci3/device/numa_node). For an NVIDIA device
// without such a file, it looks for the minor number in /proc/driver/nvidia/gpus.
std::vector<int> CpusOfDevice(const std::string& kind, uint32_t number, const HostRoots& roots);

}  // namespace muster::agent
