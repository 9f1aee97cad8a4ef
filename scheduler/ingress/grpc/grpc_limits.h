// What gRPC may use: the memory for all connections, and what it keeps to read into for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/clock.h"

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

// What gRPC keeps to read into, for each connection. With its experiment tcp_read_chunks (on in 1.51) that is 8 KB
// out of which small messages take one piece after another, so that its pages become resident over some 60 messages,
// in which an operator sees a leak.
constexpr int kReadBufferBytes = 4096;  // GRPC_ARG_TCP_READ_CHUNK_SIZE; long messages get larger ones

// Whether what is allocated is more than half of `limit`: gRPC breaks off calls, whoever's they are, where it comes
// near to all of what it may use. Costs a look into /proc, or a walk over the allocator's free lists if that is near.
bool IsShortOfMemory(uint64_t limit);

// Gives memory back to the system that the allocator keeps after a peak. One thread.
class MemoryReturn {
 public:
  // To be called now and then. Every 10 s it looks whether the allocator keeps 32 MB more than it could not give back
  // the last time: what is freed piece by piece long after its connection has ended counts as well.
  void Sweep(MonotonicTime now);

 private:
  MonotonicTime last_look_;
  uint64_t least_kept_ = 0;
};

// Switches the experiment off, without which gRPC does not look at the size above. What the user says in
// GRPC_EXPERIMENTS holds instead. First thing in main: it changes the environment, and gRPC reads it once.
void AllowSmallReadBuffers();

}  // namespace muster::scheduler
