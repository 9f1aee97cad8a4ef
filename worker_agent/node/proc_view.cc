// | /proc                                   | AllPids                                         |
// |-----------------------------------------|-------------------------------------------------|
// | is another pid namespace's              | an error: its numbers name other processes      |
// | is mounted with hidepid, and hides      | an error: processes that the command runs as    |
// | processes from this user                | another user would be missing                   |
// | can't be read                           | an error                                        |
// | otherwise                               | the list                                        |
#include "worker_agent/node/proc_view.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/sys/file_io.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxMountBytes = 16 << 20;
constexpr size_t kMountPointField = 4;  // the fifth field of a line, see proc(5), /proc/<pid>/mountinfo

bool IsInGroup(gid_t group) {
  if (getegid() == group) return true;
  std::vector<gid_t> groups(static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  return count > 0 && std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

// True if this process has CAP_SYS_PTRACE: hidepid then hides nothing from it. Root in a container often lacks it.
bool MayLookIntoAll() {
  constexpr int kSysPtrace = 19;  // linux/capability.h
  uint64_t capabilities = 0;
  return absl::SimpleHexAtoi(StatusRow(getpid(), "CapEff"), &capabilities) && (capabilities >> kSysPtrace & 1) != 0;
}

absl::Status Failed(const char* path) { return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno))); }

}  // namespace

std::string WhatProcHides(const std::string& mountinfo, bool may_view_into_all) {
  std::string hides;
  gid_t sees_all = 0;
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() <= kMountPointField || fields[kMountPointField] != "/proc") continue;
    hides.clear();  // a later mount covers an earlier one
    for (absl::string_view option : absl::StrSplit(fields.back(), ',')) {
      if (absl::ConsumePrefix(&option, "gid=") && !absl::SimpleAtoi(option, &sees_all)) sees_all = 0;
      if (absl::ConsumePrefix(&option, "hidepid=") && option != "0" && option != "off") hides = std::string(option);
    }
  }
  if (hides.empty() || may_view_into_all) return "";
  // With "ptraceable" (4) the mount option gid= has no effect.
  const bool is_shown = hides != "4" && hides != "ptraceable" && sees_all != 0 && IsInGroup(sees_all);
  return is_shown ? "" : absl::StrCat("/proc hides other users' processes (it is mounted with hidepid=", hides, ")");
}

absl::StatusOr<std::vector<pid_t>> AllPids() {
  char self[32] = "";
  if (readlink("/proc/self", self, sizeof(self) - 1) < 0) return Failed("/proc/self");
  if (self != std::to_string(getpid())) {
    return absl::UnavailableError("/proc is that of another pid namespace (mount it for this one)");
  }
  const absl::StatusOr<std::string> mounts = ReadSmallFile("/proc/self/mountinfo", kMaxMountBytes);
  if (!mounts.ok()) return mounts.status();
  if (const std::string hides = WhatProcHides(*mounts, MayLookIntoAll()); !hides.empty())
    return absl::UnavailableError(hides);
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return Failed("/proc");
  std::vector<pid_t> pids;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(proc.get());
    if (entry == nullptr && errno != 0) return Failed("/proc");
    if (entry == nullptr) return pids;
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid)) pids.push_back(pid);
  }
}

}  // namespace muster::agent
