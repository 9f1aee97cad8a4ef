#include "worker_agent/keeper/process/guardian.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/channel.h"
#include "worker_agent/keeper/pid_namespace.h"
#include "worker_agent/keeper/process/children.h"
#include "worker_agent/keeper/process/own_process.h"
#include "worker_agent/keeper/shim/shim.h"

namespace muster::agent {
namespace {

// Longer than the keeper needs for any one turn of its loop after the agent's death, the last report and the last
// output included.
constexpr absl::Duration kHung = absl::Seconds(40);

struct Reaped {
  bool is_keeper_gone = false;
  bool has_children = true;
};

Reaped Reap(pid_t keeper) {
  Reaped reaped;
  while (true) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid == keeper) reaped.is_keeper_gone = true;
    if (pid < 0) reaped.has_children = false;  // ECHILD
    if (pid <= 0) return reaped;
  }
}

void TakeLock(UniqueFd& socket, UniqueFd& lock) {
  char byte = 0;
  bool has_descriptor = false;
  UniqueFd descriptor;
  const ssize_t n = ReceiveWithDescriptor(socket.get(), &byte, 1, has_descriptor, descriptor);
  if (has_descriptor) lock = std::move(descriptor);
  // The agent is dead, or has closed its end.
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) socket.reset();
}

// Counts for how long the keeper has stood still since the agent died. Does not count time in which the machine slept.
class StandstillWatch {
 public:
  explicit StandstillWatch(MonotonicTime now) : looked_at_(now) {}

  bool IsHung(const FencePage& page, bool is_agent_gone, MonotonicTime now) {
    const absl::Duration step =
        std::min(now - std::exchange(looked_at_, now), absl::Milliseconds(2 * FencePage::kLookMs));
    const bool has_moved = std::exchange(turn_, page.last_turn()) != turn_;
    still_ = is_agent_gone && !has_moved ? still_ + step : absl::ZeroDuration();
    return still_ > kHung;
  }

 private:
  MonotonicTime looked_at_;
  MonotonicTime turn_;
  absl::Duration still_;
};

[[noreturn]] void Watch(const GuardianOptions& options, pid_t keeper, Children& children, int signals,
                        UniqueFd socket) {
  UniqueFd lock;  // the node's lock, held until this process ends
  FenceWatch fence(options.page);
  StandstillWatch standstill(BootTime());
  bool is_agent_gone = false;
  bool is_keeper_gone = false;
  MonotonicTime ends_since = MonotonicTime::Never();
  int pause_ms = kFirstPauseMs;
  while (true) {
    const Reaped reaped = Reap(keeper);
    if (!reaped.has_children) ::_exit(0);
    const MonotonicTime now = BootTime();
    is_agent_gone = is_agent_gone || ::getppid() != options.agent;
    is_keeper_gone = is_keeper_gone || reaped.is_keeper_gone;
    const bool is_hung = standstill.IsHung(options.page, is_agent_gone, now);
    if (is_keeper_gone || is_hung || fence.IsOverdue(now)) ends_since = std::min(ends_since, now);
    const bool ends_all = !ends_since.is_never();
    if (ends_all && !is_keeper_gone) ::kill(keeper, SIGKILL);  // not reaped, so its pid can't mean another process
    // If Kill could not look at /proc, the next turn tries again: the guardian ends only when the kernel reports that
    // no child is left.
    if (ends_all && now - ends_since >= kShimsTime) children.Kill([](pid_t) { return false; });
    pollfd ready[] = {
        {signals, POLLIN, 0}, {is_agent_gone ? -1 : options.watch.fd(), POLLIN, 0}, {socket.get(), POLLIN, 0}};
    if (::poll(ready, 3, ends_all ? pause_ms : fence.look_ms()) > 0 && ready[2].revents != 0) {
      TakeLock(socket, lock);
    }
    signalfd_siginfo info[16];
    while (ready[0].revents != 0 && ::read(signals, info, sizeof info) > 0) {
    }
    if (ends_all) pause_ms = std::min(2 * pause_ms, kMaxPauseMs);
  }
}

}  // namespace

AgentWatch BecomeGuardian(const GuardianOptions& options, UniqueFd socket) {
  ::prctl(PR_SET_PDEATHSIG, kParentDied);
  AdoptOrphans();
  AgentWatch itself = AgentWatch::OfThisProcess();
  PidIsolation isolation;
  if (options.isolates_pids) isolation.Begin();
  const pid_t keeper = isolation.why().empty() ? ::fork() : -1;
  GuardianReport report;
  report.error = keeper < 0 ? errno : 0;
  if (keeper == 0) {
    ::prctl(PR_SET_PDEATHSIG, kParentDied);
    if (options.isolates_pids) isolation.EndInFirstProcess();
    if (itself.IsDead()) ::_exit(1);
    return itself;
  }
  if (options.isolates_pids && keeper > 0) isolation.AwaitFirstProcess();
  isolation.why().copy(report.why, sizeof report.why - 1);
  if (isolation.why().empty()) report.keeper = std::max(keeper, 0);
  BecomeOwnProcess("ms-guardian", {socket.get(), options.watch.fd()});
  LeaveStandardStreams();
  Children children = Children::OfThisProcess();
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  const int signals = ::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0 && report.error == 0) {
    report = {.error = errno};
  }
  report.is_guarded = children.CanLook();
  [[maybe_unused]] const ssize_t written = ::write(socket.get(), &report, sizeof report);
  if (report.keeper == 0) ::_exit(1);  // if a keeper was forked, it ends when its parent does
  Watch(options, keeper, children, signals, std::move(socket));
}

}  // namespace muster::agent
