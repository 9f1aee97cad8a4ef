// --bind_core: the CPUs of each training process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/settings/syntax.h"

namespace muster::agent {

// Returns the CPUs that this process may use (sched_getaffinity), rising.
std::vector<int> AllowedCpus();

// Orders `cpus` so that neighbours in the list are neighbours in the machine: by NUMA node, then by core, so that the
// threads of one core are together. `sysfs` is /sys/devices/system; without its data the order by number stays.
std::vector<int> InNumaOrder(std::vector<int> cpus, const std::string& sysfs = "/sys/devices/system");

struct CpuChoice {
  std::vector<int> cpus;  // empty: not bound
  std::string notice;     // one line for people, equal for all local ranks it is true of; may be empty
};

// `ordered_cpus` is InNumaOrder(AllowedCpus()). With fewer CPUs than local ranks, auto gives each rank one in turn and
// says so. The error names CPUs that are not allowed to this process.
absl::StatusOr<CpuChoice> ChooseCpus(const CoreBinding& binding, uint32_t local_rank, uint32_t local_world_size,
                                     const std::vector<int>& ordered_cpus);

}  // namespace muster::agent
