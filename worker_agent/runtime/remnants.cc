#include "worker_agent/runtime/remnants.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
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
    // Another user's can't be read.
    const absl::StatusOr<std::string> environment =
        ReadSmallFile(absl::StrCat("/proc/", pid, "/environ"), kLongestEnvironment);
    if (environment.ok() && absl::StrContains(*environment, text)) found.push_back(*process);
  }
  return found;
}

}  // namespace

bool EndRemnants(const std::string& folder, absl::Duration patience) {
  if (folder.empty()) return true;
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
