#include "worker_agent/keeper/shim/suspension.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

namespace muster::agent {

// Repeats until a look finds nothing that runs: a process that it finds may have forked before it stopped.
bool Suspension::Begin(pid_t group) {
  constexpr int kMaxLooks = 20;
  for (int look = 0; look < kMaxLooks; ++look) {
    bool is_any_found = false;
    const std::optional<std::vector<ProcessInfo>> found = DescendantsOf(::getpid(), {});
    if (!found.has_value()) {
      const int error = errno;
      is_group_suspended_ = group > 0 && ::kill(-group, SIGSTOP) == 0;
      errno = error;
      return false;
    }
    for (const ProcessInfo& process : *found) {
      const bool is_known = std::any_of(suspended_.begin(), suspended_.end(), [&](const ProcessInfo& known) {
        return known.pid == process.pid && known.start_time == process.start_time;
      });
      if (process.is_dead || process.is_stopped || is_known) continue;
      SignalExactly(process, SIGSTOP);
      suspended_.push_back(process);
      is_any_found = true;
    }
    if (!is_any_found) return true;
  }
  // The processes start others faster than this loop finds them. One signal to a group reaches all its processes at
  // once.
  is_group_suspended_ = group > 0 && ::kill(-group, SIGSTOP) == 0;
  return true;
}

void Suspension::End(pid_t group) {
  for (const ProcessInfo& process : std::exchange(suspended_, {})) SignalExactly(process, SIGCONT);
  if (std::exchange(is_group_suspended_, false) && group > 0) ::kill(-group, SIGCONT);
}

}  // namespace muster::agent
