// Limits for gRPC: the memory that all connections may use together, and the size of each connection's read buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/clock.h"

namespace muster::scheduler {

// Returns how much memory gRPC's connections may use, in bytes: half of the machine's memory, but at least 64 MiB. If
// the process is in a control group with a lower limit (MemoryMax= of a service, a container's limit), half of that
// limit.
size_t ConnectionMemory();

// The least memory that a node's connection needs, in bytes (docs/performance.md, "Sizing"). ConnectionMemory divided
// by it limits the number of nodes.
inline constexpr size_t kMemoryOfANode = 32 << 10;

// Returns the lowest memory limit of a control group and all groups above it, in bytes; UINT64_MAX: there is no limit.
// `groups` is the text of /proc/self/cgroup. `root` is /sys/fs/cgroup, or a test's folder. `root` itself is checked,
// too, because in a container it is the container's own group.
uint64_t MemoryLimitOf(const std::string& groups, const std::string& root);

// The size of gRPC's read buffer for each connection. gRPC ignores it while its experiment tcp_read_chunks is on, which
// is the default in gRPC 1.51. Then the buffer has 8 KB, and each small message uses the next piece of it. So memory
// use grows over the first 60 messages or so, which looks like a leak. See AllowSmallReadBuffers.
constexpr int kReadBufferBytes = 4096;  // for GRPC_ARG_TCP_READ_CHUNK_SIZE; gRPC uses larger buffers for long messages

// True if more than half of `limit` is in use. The caller must then free memory: when gRPC comes near its whole limit,
// it breaks off calls of any client. `limit`: in bytes. Costs a read of /proc; if much is resident, also a walk over
// the allocator's free lists.
bool IsShortOfMemory(uint64_t limit);

// Gives memory back to the system that the allocator keeps after a peak of use. Not thread-safe.
class MemoryReturn {
 public:
  // Call it at least every 10 s. At most every 10 s it measures the memory that the allocator keeps. If that has grown
  // by 32 MiB since the last return, it returns what it can. Needed because gRPC frees some memory long after the
  // connection that used it has ended.
  void Sweep(MonotonicTime now);

 private:
  MonotonicTime last_look_;
  uint64_t least_kept_ = 0;
};

// Switches off the experiment tcp_read_chunks, so that gRPC respects kReadBufferBytes. Does nothing if the user has set
// GRPC_EXPERIMENTS. Call it first in main: it changes the environment, which gRPC reads only once.
void AllowSmallReadBuffers();

}  // namespace muster::scheduler
