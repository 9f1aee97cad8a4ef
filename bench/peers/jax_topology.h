// The topology that JAX processes with one device on a CPU exchange at their start.
#pragma once

#include <cstddef>
#include <string>

namespace muster::bench {

inline constexpr size_t kTopologyBytes = 77;  // of one process
inline constexpr char kGlobalTopologyKey[] = "cpu:global_topology/cpu";
inline std::string LocalTopologyKey(int task) { return "cpu:local_topology/cpu/" + std::to_string(task); }

}  // namespace muster::bench
