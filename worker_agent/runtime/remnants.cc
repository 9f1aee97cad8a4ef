#include "worker_agent/runtime/remnants.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/file_io.h"
#include "worker_agent/keeper/descendants.h"

namespace muster::agent {
namespace {

constexpr size_t kLongestEnvironment = 4 << 20;
constexpr absl::Duration kPause = absl::Milliseconds(20);

std::set<pid_t> ThisAndAbove() {
  std::set<pid_t> pids = {getpid()};
  std::optional<ProcessInfo> process = ReadProcess(getpid());
  while (process && process->parent > 0 && pids.insert(process->parent).second) process = ReadProcess(process->parent);
  return pids;
}

struct Found {
  ProcessInfo process;
  uid_t uid = 0;
};

// Of all users: root reads any environment, others that of their own processes.
std::vector<Found> ProcessesWith(const std::string& text, const std::set<pid_t>& spared) {
  std::vector<Found> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* entry = proc == nullptr ? nullptr : readdir(proc.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid) || spared.contains(pid)) continue;
    const std::optional<ProcessInfo> process = ReadProcess(pid);
    if (!process || process->is_dead) continue;
    struct stat info {};
    if (stat(absl::StrCat("/proc/", pid).c_str(), &info) != 0) continue;
    const absl::StatusOr<std::string> environment =
        ReadSmallFile(absl::StrCat("/proc/", pid, "/environ"), kLongestEnvironment);
    if (environment.ok() && absl::StrContains(*environment, text)) found.push_back({*process, info.st_uid});
  }
  return found;
}

std::vector<Remnant> Named(const std::vector<Found>& found) {
  std::vector<Remnant> named;
  named.reserve(found.size());
  for (const Found& one : found) named.push_back({one.process.pid, one.uid});
  return named;
}

}  // namespace

std::vector<Remnant> EndRemnants(const std::string& folder, absl::Duration patience) {
  // The lock's file may be in a folder that others share: what it names must be a work folder.
  const std::filesystem::path path(folder);
  if (!path.is_absolute() || !absl::StartsWith(path.parent_path().filename().string(), "muster")) return {};
  const std::string text = absl::StrCat("=", folder, "/");
  const std::set<pid_t> spared = ThisAndAbove();
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  while (true) {
    const std::vector<Found> left = ProcessesWith(text, spared);
    if (left.empty()) return {};
    for (const Found& found : left) {
      if (found.uid == geteuid()) SignalExactly(found.process, SIGKILL);
    }
    if (Clock::System().Read().monotonic >= deadline) return Named(left);
    absl::SleepFor(kPause);
  }
}

}  // namespace muster::agent
