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

std::vector<ProcessInfo> ProcessesWith(const std::string& text, const std::set<pid_t>& spared) {
  std::vector<ProcessInfo> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* entry = proc == nullptr ? nullptr : readdir(proc.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid) || spared.contains(pid)) continue;
    const std::optional<ProcessInfo> process = ReadProcess(pid);
    if (!process || process->is_dead) continue;
    struct stat info {};
    if (stat(absl::StrCat("/proc/", pid).c_str(), &info) != 0 || info.st_uid != geteuid()) continue;
    const absl::StatusOr<std::string> environment =
        ReadSmallFile(absl::StrCat("/proc/", pid, "/environ"), kLongestEnvironment);
    if (environment.ok() && absl::StrContains(*environment, text)) found.push_back(*process);
  }
  return found;
}

}  // namespace

bool EndRemnants(const std::string& folder, absl::Duration patience) {
  // The lock's file may be in a folder that others share: what it names must be a work folder.
  const std::filesystem::path path(folder);
  if (!path.is_absolute() || !absl::StartsWith(path.parent_path().filename().string(), "muster")) return true;
  const std::string text = absl::StrCat("=", folder, "/");
  const std::set<pid_t> spared = ThisAndAbove();
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  while (true) {
    const std::vector<ProcessInfo> left = ProcessesWith(text, spared);
    if (left.empty()) return true;
    for (const ProcessInfo& process : left) SignalExactly(process, SIGKILL);
    if (Clock::System().Read().monotonic >= deadline) return false;
    absl::SleepFor(kPause);
  }
}

}  // namespace muster::agent
