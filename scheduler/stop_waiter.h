// What ends ms-scheduler: a signal, or with --once the end of its job.
#pragma once

#include <functional>
#include <optional>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/net/waker.h"
#include "common/sys/signal_pipe.h"

namespace muster::scheduler {

class StopWaiter {
 public:
  // Three times what a drain takes.
  static constexpr absl::Duration kSignalPatience = absl::Seconds(30);

  // Takes SIGTERM, SIGINT and SIGHUP from now on, and lets SIGUSR1 and SIGUSR2 pass; until then they end the process at
  // once. Once SIGTERM or SIGINT has come it ends within kSignalPatience, whatever hangs (common/sys/program.h). Main
  // thread.
  StopWaiter();

  // Any thread: the job has ended, and --once is to end with this code. The first one counts.
  void NoteSettled(int exit_code);
  std::optional<int> settled() const;

  // Waits for a signal (returned) or NoteSettled (0); `on_hangup` is called for each SIGHUP: false
  // makes it end the wait too, unless it was ignored when the process began. `on_tick` is called each `interval`
  // at the latest, unless that is infinite. Main thread.
  int Wait(const std::function<bool()>& on_hangup, absl::Duration interval, const std::function<void()>& on_tick);

  // From now on SIGTERM and SIGINT end the process at once, as if nobody caught them. Main thread.
  void LetSignalsKill();

 private:
  SignalPipe signals_;
  const Waker waker_;
  bool ignores_hangup_ = false;
  mutable Mutex mutex_;
  std::optional<int> settled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
