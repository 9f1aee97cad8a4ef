// The cases of an end. A kill is "free" if it was counted while the process ran and explains no other end.
//
//   SIGKILL, and there is a free kill                               the kernel killed the process
//   another failure, and there is a free kill                       the kernel killed a process that it had started
//   SIGKILL, nothing is counted, and the kernel's log names it      the kernel killed the process
//   success, no free kill, or nothing can be read                   nothing is reported
#include "worker_agent/keeper/process/memory_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/unique_fd.h"
#include "common/sys/file_io.h"

namespace muster::agent {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 62;  // version 1 shows a number just below 2^63 for "no limit"

constexpr int kMaxRecords = 65536;             // read at most from the kernel's log, which is a ring
constexpr uint64_t kLogSlackUs = 600'000'000;  // the log's clock may run a little faster or slower than ours
// The target of the link /proc/self/ns/pid in the machine's first pid namespace. The kernel's log has the pids of that
// namespace.
constexpr char kFirstPidNamespace[] = "pid:[4026531836]";

uint64_t MonotonicUs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

bool HasFirstPids() {
  char link[64];
  const ssize_t size = readlink("/proc/self/ns/pid", link, sizeof(link));
  return size > 0 && absl::string_view(link, static_cast<size_t>(size)) == kFirstPidNamespace;
}

// "6,339,5140900,-;Out of memory: Killed process 1234 (python3) total-vm:…": the third number is its time.
bool NamesKilled(absl::string_view record, int64_t pid, uint64_t since_us) {
  const std::vector<absl::string_view> head = absl::StrSplit(record.substr(0, record.find(';')), ',');
  uint64_t us = 0;
  if (head.size() < 3 || !absl::SimpleAtoi(head[2], &us) || us + kLogSlackUs < since_us) return false;
  return absl::StrContains(record, "ut of memory") && absl::StrContains(record, absl::StrCat(" process ", pid, " ("));
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(ReadSmallFile(path, 4096).value_or(""), &number)) return std::nullopt;  // "max" is no number
  return number;
}

// Reads the number from a line such as "oom_kill 3".
std::optional<uint64_t> ReadKills(const std::string& path) {
  std::istringstream file(ReadSmallFile(path, 64 * 1024).value_or(""));
  std::string key;
  for (uint64_t value = 0; file >> key >> value;) {
    if (key == "oom_kill") return value;
  }
  return std::nullopt;
}

// Returns the group above: "" for "/job".
std::optional<std::string> Above(const std::string& path) {
  if (path.empty()) return std::nullopt;
  return path.substr(0, path.rfind('/'));
}

}  // namespace

MemoryWatch::MemoryWatch(const std::string& groups, const std::string& root, std::string kernel_log)
    : kernel_log_(std::move(kernel_log)) {
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));  // number:controllers:path
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    const bool is_unified = parts[0] == "0" && parts[1].empty();
    const bool is_memory = absl::StrContains(absl::StrCat(",", parts[1], ","), ",memory,");
    // If version 1 has the memory controller, its counts are used.
    if (!is_memory && !(is_unified && root_.empty())) continue;
    is_v2_ = !is_memory;
    root_ = is_memory ? absl::StrCat(root, "/memory") : root;
    path_ = parts[2] == "/" ? "" : parts[2];
  }
}

MemoryWatch MemoryWatch::OfThisProcess() {
  return MemoryWatch(ReadSmallFile("/proc/self/cgroup", 1 << 20).value_or(""), "/sys/fs/cgroup",
                     HasFirstPids() ? "/dev/kmsg" : "");
}

std::optional<uint64_t> MemoryWatch::Kills() const {
  if (root_.empty()) return std::nullopt;
  for (std::optional<std::string> path = path_; path; path = Above(*path)) {
    const auto kills = ReadKills(absl::StrCat(root_, *path, is_v2_ ? "/memory.events" : "/memory.oom_control"));
    if (kills) return kills;
  }
  return std::nullopt;
}

// Returns the lowest limit of the group and the groups above it, which is the one that is reached first, and the peak
// of the group that has it.
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

// Each read of /dev/kmsg returns one record.
bool MemoryWatch::IsInKernelLog(int64_t pid, uint64_t since_us) const {
  if (kernel_log_.empty()) return false;
  const UniqueFd fd(open(kernel_log_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  char buffer[8192];
  for (int i = 0; fd.is_open() && i < kMaxRecords; ++i) {
    const ssize_t size = read(fd.get(), buffer, sizeof(buffer));
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;  // EPIPE: older records were overwritten
    if (size <= 0) return false;
    for (const absl::string_view line : absl::StrSplit(absl::string_view(buffer, static_cast<size_t>(size)), '\n')) {
      if (NamesKilled(line, pid, since_us)) return true;
    }
  }
  return false;
}

MemoryWatch::Mark MemoryWatch::Now() const { return {Kills(), blamed_, MonotonicUs()}; }

MemoryEnd MemoryWatch::Judge(const Mark& start, const ExitStatus& exit, int64_t pid) {
  if (exit.IsSuccess()) return {};
  if (!start.kills) {
    if (exit.signal != SIGKILL || !IsInKernelLog(pid, start.us)) return {};
    MemoryEnd end = Limits();
    end.was_short = true;
    return end;
  }
  const std::optional<uint64_t> kills = Kills();
  if (!kills || *kills < *start.kills) return {};
  if (*kills - *start.kills <= blamed_ - start.blamed) return {};
  ++blamed_;
  MemoryEnd end = Limits();
  end.was_short = true;
  return end;
}

}  // namespace muster::agent
