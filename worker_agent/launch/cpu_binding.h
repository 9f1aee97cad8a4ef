// --bind_core: chooses the CPUs that each training process is bound to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/settings/syntax.h"

namespace muster::agent {

// Returns the CPUs that this process may use (sched_getaffinity), rising.
std::vector<int> AllowedCpus();

// Orders `cpus` by NUMA node, then by core, so that the threads of one core are next to each other. Reads the topology
// from `sysfs`; without it the order is that of the CPU numbers.
std::vector<int> InNumaOrder(std::vector<int> cpus, const std::string& sysfs = "/sys/devices/system");

struct CpuChoice {
  std::vector<int> cpus;  // empty: not bound
  std::string notice;     // one line for people; may be empty. Local ranks in the same situation get equal lines
};

// Returns the CPUs for a local rank. `ordered_cpus` is InNumaOrder(AllowedCpus()). --bind_core=auto divides them among
// the local ranks; if there are fewer CPUs than ranks, some ranks share one, and the notice says so. The error names a
// CPU that this process may not use.
absl::StatusOr<CpuChoice> ChooseCpus(const CoreBinding& binding, uint32_t local_rank, uint32_t local_world_size,
                                     const std::vector<int>& ordered_cpus);

}  // namespace muster::agent
