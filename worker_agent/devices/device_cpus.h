// The CPUs near a device: those of its NUMA node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker_agent/machine/host_roots.h"

namespace muster::agent {

// Returns them, rising; empty: not known, or the machine has one node only. An Ascend device is looked up in sysfs
// under its name in any class (class/*/davinci3/device/numa_node), an NVIDIA one by its minor number in
// /proc/driver/nvidia/gpus, too.
std::vector<int> CpusOfDevice(const std::string& kind, uint32_t number, const HostRoots& roots);

}  // namespace muster::agent
