// killed by SIGKILL, and a kill was counted that nothing else was blamed on    the kernel killed it
// an exit code or another signal, and such a kill was counted                  the kernel killed a process that it had
// started the end was good, nothing was counted, or can't be looked at                 nothing is told
#include "worker_agent/keeper/process/memory_watch.h"

#include <array>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace muster::agent {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 62;  // what version 1 says is somewhat below 2^63

std::optional<uint64_t> ReadNumber(const std::string& path) {
  uint64_t number = 0;
  if (!(std::ifstream(path) >> number)) return std::nullopt;  // "max" is no number
  return number;
}

// Of a line "oom_kill 3".
std::optional<uint64_t> ReadKills(const std::string& path) {
  std::ifstream file(path);
  std::string key;
  for (uint64_t value = 0; file >> key >> value;) {
    if (key == "oom_kill") return value;
  }
  return std::nullopt;
}

// "" above "/job".
std::optional<std::string> Above(const std::string& path) {
  if (path.empty()) return std::nullopt;
  return path.substr(0, path.rfind('/'));
}

}  // namespace

MemoryWatch::MemoryWatch(const std::string& groups, const std::string& root) {
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));  // number:controllers:path
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    const bool is_unified = parts[0] == "0" && parts[1].empty();
    const bool is_memory = absl::StrContains(absl::StrCat(",", parts[1], ","), ",memory,");
    if (!is_memory && !(is_unified && root_.empty())) continue;  // where version 1 has the memory, it counts
    is_v2_ = !is_memory;
    root_ = is_memory ? absl::StrCat(root, "/memory") : root;
    path_ = parts[2] == "/" ? "" : parts[2];
  }
}

MemoryWatch MemoryWatch::OfThisProcess() {
  std::ifstream file("/proc/self/cgroup");
  return MemoryWatch({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, "/sys/fs/cgroup");
}

std::optional<uint64_t> MemoryWatch::Kills() const {
  if (root_.empty()) return std::nullopt;
  for (std::optional<std::string> path = path_; path; path = Above(*path)) {
    const auto kills = ReadKills(absl::StrCat(root_, *path, is_v2_ ? "/memory.events" : "/memory.oom_control"));
    if (kills) return kills;
  }
  return std::nullopt;
}

// The lowest limit of the group and those above it, which is the one that is reached first, and that group's peak.
MemoryEnd MemoryWatch::Limits() const {
  MemoryEnd end;
  uint64_t least = kNoLimit;
  for (std::optional<std::string> path = path_; path; path = Above(*path)) {
    const std::string folder = absl::StrCat(root_, *path);
    const auto limit = ReadNumber(absl::StrCat(folder, is_v2_ ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!limit || *limit >= least) continue;
    least = end.limit_bytes = *limit;
    end.peak_bytes =
        ReadNumber(absl::StrCat(folder, is_v2_ ? "/memory.peak" : "/memory.max_usage_in_bytes")).value_or(0);
  }
  return end;
}

MemoryWatch::Mark MemoryWatch::Now() const { return {Kills(), blamed_}; }

MemoryEnd MemoryWatch::Judge(const Mark& start, const ExitStatus& exit) {
  if (exit.IsSuccess() || !start.kills) return {};
  const std::optional<uint64_t> kills = Kills();
  if (!kills || *kills < *start.kills) return {};
  if (*kills - *start.kills <= blamed_ - start.blamed) return {};
  ++blamed_;
  MemoryEnd end = Limits();
  end.was_short = true;
  return end;
}

}  // namespace muster::agent
