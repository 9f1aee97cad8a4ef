// How much memory this process may use for its connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster::scheduler {

// Half of what the machine has, or of what its control group (MemoryMax= of a service, a container's limit) may use
// where that is less. In bytes, at least 64 MiB.
size_t ConnectionMemory();

// What a node's connection takes at least (docs/performance.md, "Sizing"): there is no room for more nodes than this
// goes into that.
inline constexpr size_t kMemoryOfANode = 32 << 10;

// The least limit of a control group and those above it, in bytes; UINT64_MAX: there is none. `groups` is what
// /proc/self/cgroup says, `root` stands for /sys/fs/cgroup. Of a container the root itself is its own group.
uint64_t MemoryLimitOf(const std::string& groups, const std::string& root);

}  // namespace muster::scheduler
