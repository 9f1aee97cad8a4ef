#include "scheduler/ingress/grpc/grpc_limits.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_io.h"

namespace muster::scheduler {

namespace {

constexpr uint64_t kLeast = 64 << 20;
constexpr absl::Duration kLookInterval = absl::Seconds(10);
constexpr uint64_t kWorthwhile = 32 << 20;

// Returns the process's resident memory; 0 if it can't be read.
uint64_t ResidentBytes() {
  uint64_t resident = 0;
  const std::string statm = ReadSmallFile("/proc/self/statm", 4096).value_or("");
  const std::vector<absl::string_view> fields = absl::StrSplit(statm, ' ');  // proc(5): the second field, in pages
  if (fields.size() < 2 || !absl::SimpleAtoi(fields[1], &resident)) return 0;
  return resident * static_cast<uint64_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
}

uint64_t UsedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Returns the resident bytes that are not allocated: the memory that the allocator keeps, and the program itself.
uint64_t KeptBytes() {
  const uint64_t resident = ResidentBytes();
  return resident - std::min(resident, UsedBytes());
}

}  // namespace

uint64_t MemoryLimitOf(const std::string& groups, const std::string& root) {
  uint64_t least = UINT64_MAX;
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));  // number:controllers:path
    if (parts.size() != 3) continue;
    const bool is_unified = parts[0] == "0" && parts[1].empty();
    if (!is_unified && !absl::StrContains(absl::StrCat(",", parts[1], ","), ",memory,")) continue;
    const std::string base = is_unified ? root : root + "/memory";
    const char* const file = is_unified ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string path = parts[2];; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      uint64_t limit = 0;  // not used if the file has no number but "max": there is no limit
      const auto text = ReadSmallFile(absl::StrCat(base, path, file), 4096);
      if (absl::SimpleAtoi(text.value_or(""), &limit)) least = std::min(least, limit);
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}

size_t ConnectionMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && page_size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size) : 0;
  const std::string groups = ReadSmallFile("/proc/self/cgroup", 1 << 20).value_or("");
  bytes = std::min(bytes, MemoryLimitOf(groups, "/sys/fs/cgroup"));
  return std::max(bytes / 2, kLeast);
}

bool IsShortOfMemory(uint64_t limit) { return ResidentBytes() > limit / 2 && UsedBytes() > limit / 2; }

void MemoryReturn::Sweep(MonotonicTime now) {
  if (now - last_look_ < kLookInterval) return;
  last_look_ = now;
  uint64_t kept = KeptBytes();
  if (kept >= least_kept_ + kWorthwhile) {
    malloc_trim(0);
    kept = KeptBytes();
    least_kept_ = kept;
  }
  least_kept_ = std::min(least_kept_, kept);
}

void AllowSmallReadBuffers() { setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0); }

}  // namespace muster::scheduler
