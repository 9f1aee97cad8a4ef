// Limits for gRPC: the memory of all connections, and each one's read buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/clock.h"

namespace muster::scheduler {

// Returns half of the machine's memory, or of its control group's limit (MemoryMax= of a service, a container's limit)
// if that is less. In bytes, at least 64 MiB.
size_t ConnectionMemory();

// The memory that a node's connection needs at least (docs/performance.md, "Sizing"). It limits the number of nodes.
inline constexpr size_t kMemoryOfANode = 32 << 10;

// Returns the least limit of a control group and those above it, in bytes; UINT64_MAX: none. `groups` is the text of
// /proc/self/cgroup, `root` replaces /sys/fs/cgroup. In a container the root itself is its own group.
uint64_t MemoryLimitOf(const std::string& groups, const std::string& root);

// gRPC's read buffer for each connection. With its experiment tcp_read_chunks (on in 1.51) it is 8 KB, and small
// messages take one piece of it after another. So its pages become resident over some 60 messages, which looks like a
// leak.
constexpr int kReadBufferBytes = 4096;  // GRPC_ARG_TCP_READ_CHUNK_SIZE; long messages get larger ones

// True if more than half of `limit` is allocated. Near its whole limit, gRPC breaks off any client's calls. Costs a
// read of /proc, or near the limit a walk over the allocator's free lists.
bool IsShortOfMemory(uint64_t limit);

// Returns memory to the system that the allocator keeps after a peak. One thread.
class MemoryReturn {
 public:
  // Call it now and then. Every 10 s it checks whether the allocator keeps 32 MB more than it could not return the last
  // time. This includes memory freed piece by piece long after its connection has ended.
  void Sweep(MonotonicTime now);

 private:
  MonotonicTime last_look_;
  uint64_t least_kept_ = 0;
};

// Switches off the experiment, with which gRPC ignores the size above. The user's GRPC_EXPERIMENTS wins. Call it first
// in main: it changes the environment, and gRPC reads it once.
void AllowSmallReadBuffers();

}  // namespace muster::scheduler
