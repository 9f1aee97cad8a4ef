#include "scheduler/stop_waiter.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/sys/program.h"
#include "common/sys/wait.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kMaxPoll = absl::Minutes(1);

}  // namespace

StopWaiter::StopWaiter() {
  MUSTER_CHECK(waker_.is_open(), "a descriptor at the start");
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  ignores_hangup_ = hangup.sa_handler == SIG_IGN;  // under nohup; SIGHUP then only reloads the TLS files
  SetSignalPatience(kSignalPatience);
  signals_.Handle({SIGTERM, SIGINT}, /*ends=*/true);
  // A batch system can announce the end of a job with a signal to each process of a step (Slurm's --signal). The signal
  // is meant for the training processes, so it must not end the scheduler.
  signals_.Handle({SIGHUP, SIGUSR1, SIGUSR2}, /*ends=*/false);
}

void StopWaiter::NoteSettled(int exit_code) {
  {
    MutexLock lock(mutex_);
    if (settled_.has_value()) return;
    settled_ = exit_code;
  }
  waker_.Wake();
}

std::optional<int> StopWaiter::settled() const {
  MutexLock lock(mutex_);
  return settled_;
}

int StopWaiter::Wait(const std::function<bool()>& on_hangup, absl::Duration interval,
                     const std::function<void()>& on_tick) {
  const int timeout_ms =
      PollMs(interval == absl::InfiniteDuration() ? interval : std::clamp(interval, absl::Milliseconds(1), kMaxPoll));
  while (true) {
    std::array<pollfd, 2> watched = {{{signals_.fd(), POLLIN, 0}, {waker_.fd(), POLLIN, 0}}};
    poll(watched.data(), watched.size(), timeout_ms);
    if (timeout_ms >= 0) on_tick();  // after each wake-up, because frequent signals could prevent a timeout
    if (const std::optional<int> signal = signals_.Take()) {
      if (*signal == SIGTERM || *signal == SIGINT) return *signal;
      if (*signal == SIGHUP && !on_hangup() && !ignores_hangup_) return SIGHUP;
    }
    if (settled().has_value()) return 0;
  }
}

void StopWaiter::LetSignalsKill() { signals_.LetKill({SIGTERM, SIGINT}); }

}  // namespace muster::scheduler
