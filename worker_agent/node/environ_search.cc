#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/sys/child/child.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/process/own_process.h"
#include "worker_agent/node/proc_view.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kHangPatience =
    absl::Milliseconds(300);  // for one process; a read that does not hang takes no time
constexpr absl::Duration kSearchReapPatience = absl::Milliseconds(100);
constexpr size_t kMaxStuck = 8;
constexpr size_t kMaxEnvironBytes = 16 << 20;  // the kernel allows an environment of 6 MiB

EnvironSight Of(int error) { return error == ENOENT || error == ESRCH ? EnvironSight::kGone : EnvironSight::kRefused; }

EnvironSight Read(pid_t pid, const std::string& text) {
  const UniqueFd fd(open(absl::StrCat("/proc/", pid, "/environ").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return Of(errno);
  std::string seen;  // the last bytes read: the text may begin in them and end in the next ones
  size_t total = 0;
  char bytes[64 * 1024];
  while (total < kMaxEnvironBytes) {
    const ssize_t n = read(fd.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Of(errno);
    if (n == 0) return total == 0 ? EnvironSight::kEmpty : EnvironSight::kHasNot;
    total += static_cast<size_t>(n);
    seen.append(bytes, static_cast<size_t>(n));
    if (seen.find(text) != std::string::npos) return EnvironSight::kHasIt;
    if (seen.size() > text.size()) seen.erase(0, seen.size() - text.size());
  }
  return EnvironSight::kRefused;
}

// Runs in the child: reads the environments from number `first` on, and writes an EnvironSight, one byte, for each.
[[noreturn]] void Serve(const std::vector<pid_t>& pids, size_t first, const std::string& text, int out) {
  // Closes the descriptors that it has inherited: with them it would keep the agent's locks.
  BecomeOwnProcess("ms-worker-look", {out});
  LeaveStandardStreams();
  for (size_t i = first; i < pids.size(); ++i) {
    const char sight = static_cast<char>(Read(pids[i], text));
    if (write(out, &sight, 1) != 1) break;
  }
  _exit(0);
}

// Kills the child and waits for its end. Returns false if it has not ended: it hangs in the kernel.
bool End(pid_t child) {
  kill(child, SIGKILL);
  if (AwaitChild(child, kSearchReapPatience) == ChildState::kRuns) return false;
  ReapChild(child);
  return true;
}

// Starts a child that reads from number `sights.size()` on, and adds its answers to `sights`. If it hangs at a process,
// adds kHangs for that process and returns.
void Gather(const std::vector<pid_t>& pids, const std::string& text, MonotonicTime deadline,
            std::vector<EnvironSight>& sights, std::vector<pid_t>& stuck) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t child = fork();
  if (child < 0) return;
  if (child == 0) Serve(pids, sights.size(), text, in.get());
  in.reset();
  while (sights.size() < pids.size()) {
    const MonotonicTime now = Clock::System().Read().monotonic;
    const absl::Duration patience = std::min(kHangPatience, deadline - now);
    if (patience <= absl::ZeroDuration()) break;
    pollfd ready{out.get(), POLLIN, 0};
    const int count = poll(&ready, 1, PollMs(patience));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) {
      sights.push_back(EnvironSight::kHangs);
      break;
    }
    char bytes[4096];
    const ssize_t n = read(out.get(), bytes, sizeof bytes);
    if (n <= 0) break;  // the child has ended: someone killed it
    for (ssize_t i = 0; i < n; ++i) sights.push_back(static_cast<EnvironSight>(bytes[i]));
  }
  if (!End(child)) stuck.push_back(child);
}

}  // namespace

std::vector<EnvironSight> SearchEnvirons(const std::vector<pid_t>& pids, const std::string& text,
                                         MonotonicTime deadline, std::vector<pid_t>& stuck) {
  std::vector<EnvironSight> sights;
  while (sights.size() < pids.size() && stuck.size() < kMaxStuck && Clock::System().Read().monotonic < deadline) {
    const size_t before = sights.size();
    Gather(pids, text, deadline, sights, stuck);
    if (sights.size() == before) break;  // the child could not be started, or was killed
  }
  sights.resize(pids.size(), EnvironSight::kNotSeen);
  return sights;
}

}  // namespace muster::agent
