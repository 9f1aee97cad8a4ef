#include "worker_agent/launch/cpu_binding.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/number_list.h"
#include "common/sys/file_io.h"

namespace muster::agent {
namespace {

constexpr uint32_t kMaxNumaNodes = 1024;

// Returns the first number of a sysfs list ("0,32" → 0).
int FirstOfList(const std::string& path, int otherwise) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, 64 * 1024);
  if (!text.ok()) return otherwise;
  const auto ranges = ParseNumberRanges(*text, kHighestCpu);
  return ranges.ok() ? static_cast<int>(ranges->front().low) : otherwise;
}

std::map<int, uint32_t> NumaNodes(const std::string& sysfs) {
  std::map<int, uint32_t> node_of;
  const absl::StatusOr<std::string> online = ReadSmallFile(absl::StrCat(sysfs, "/node/online"), 4096);
  if (!online.ok()) return node_of;
  const auto nodes = ParseNumberRanges(*online, kMaxNumaNodes);
  if (!nodes.ok()) return node_of;
  for (const NumberRange& range : *nodes) {
    for (uint32_t node = range.low; node <= range.high; ++node) {
      const auto text = ReadSmallFile(absl::StrCat(sysfs, "/node/node", node, "/cpulist"), 64 * 1024);
      if (!text.ok()) continue;
      const auto cpus = ParseNumberRanges(*text, kHighestCpu);
      if (!cpus.ok()) continue;  // a NUMA node without CPUs has an empty list
      for (const NumberRange& part : *cpus) {
        for (uint32_t cpu = part.low; cpu <= part.high; ++cpu) node_of[static_cast<int>(cpu)] = node;
      }
    }
  }
  return node_of;
}

CpuChoice Share(uint32_t local_rank, uint32_t local_world_size, const std::vector<int>& cpus) {
  CpuChoice choice;
  const size_t count = cpus.size();
  if (count == 0) return choice;
  if (count < local_world_size) {
    choice.cpus = {cpus[local_rank % count]};
    choice.notice = absl::StrCat("--bind_core=auto: ", local_world_size, " processes share ", count,
                                 " CPUs on this machine, so some processes share one CPU");
    return choice;
  }
  const size_t begin = local_rank * count / local_world_size;
  const size_t end = (local_rank + 1) * count / local_world_size;
  choice.cpus.assign(cpus.begin() + static_cast<std::ptrdiff_t>(begin),
                     cpus.begin() + static_cast<std::ptrdiff_t>(end));
  std::sort(choice.cpus.begin(), choice.cpus.end());
  return choice;
}

}  // namespace

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  for (int capacity = 1024; capacity <= 65536; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    if (set == nullptr) return cpus;
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    const int result = sched_getaffinity(0, size, set);
    const int error = errno;
    for (int cpu = 0; result == 0 && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (result == 0 || error != EINVAL) return cpus;  // EINVAL: the buffer is too small for the kernel's mask
  }
  return cpus;
}

std::vector<int> InNumaOrder(std::vector<int> cpus, const std::string& sysfs) {
  const std::map<int, uint32_t> node_of = NumaNodes(sysfs);
  std::map<int, std::tuple<uint32_t, int, int>> key_of;
  for (const int cpu : cpus) {
    const auto node = node_of.find(cpu);
    const int core = FirstOfList(absl::StrCat(sysfs, "/cpu/cpu", cpu, "/topology/thread_siblings_list"), cpu);
    key_of[cpu] = {node == node_of.end() ? kMaxNumaNodes : node->second, core, cpu};
  }
  std::sort(cpus.begin(), cpus.end(), [&key_of](int a, int b) { return key_of[a] < key_of[b]; });
  return cpus;
}

absl::StatusOr<CpuChoice> ChooseCpus(const CoreBinding& binding, uint32_t local_rank, uint32_t local_world_size,
                                     const std::vector<int>& ordered_cpus) {
  if (binding.is_off()) return CpuChoice();
  if (binding.is_auto) return Share(local_rank, local_world_size, ordered_cpus);
  const auto found = binding.cpus.find(local_rank);
  if (found == binding.cpus.end()) {
    return CpuChoice{
        {},
        "--bind_core does not name every local rank of this machine; the processes of the other ranks are not bound"};
  }
  for (const int cpu : found->second) {
    if (std::find(ordered_cpus.begin(), ordered_cpus.end(), cpu) == ordered_cpus.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--bind_core gives CPU ", cpu, " to local rank ", local_rank,
                                                     ", but this process may not use it (see taskset -p, or the "
                                                     "container's cpuset)"));
    }
  }
  return CpuChoice{found->second, ""};
}

}  // namespace muster::agent
