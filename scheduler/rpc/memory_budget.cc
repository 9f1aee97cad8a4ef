#include "scheduler/rpc/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace muster::scheduler {
namespace {

constexpr uint64_t kLeast = 64 << 20;

}  // namespace

size_t ConnectionMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && page_size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size) : 0;
  // In a container the root of the hierarchy that it sees is its own; "max" where there is no limit.
  uint64_t limit = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && limit < bytes) bytes = limit;
  return std::max(bytes / 2, kLeast);
}

}  // namespace muster::scheduler
