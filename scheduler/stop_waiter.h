// Waits for the end of ms-scheduler: a signal, or with --once the end of its job.
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
  // Three times the duration of a drain.
  static constexpr absl::Duration kSignalPatience = absl::Seconds(30);

  // From now on handles SIGTERM, SIGINT and SIGHUP, and ignores SIGUSR1 and SIGUSR2; until then they end the process at
  // once. After SIGTERM or SIGINT the process ends within kSignalPatience, even if something hangs
  // (common/sys/program.h). Main thread.
  StopWaiter();

  // Any thread: the job has ended, and --once must exit with this code. The first one counts.
  void NoteSettled(int exit_code);
  std::optional<int> settled() const;

  // Waits for a signal (returned) or NoteSettled (0). Calls `on_hangup` for each SIGHUP; if it returns false, SIGHUP
  // ends the wait as well, unless it was ignored when the process began. Calls `on_tick` each `interval` at the latest,
  // unless that is infinite. Main thread.
  int Wait(const std::function<bool()>& on_hangup, absl::Duration interval, const std::function<void()>& on_tick);

  // From now on SIGTERM and SIGINT end the process at once, as if not handled. Main thread.
  void LetSignalsKill();

 private:
  SignalPipe signals_;
  const Waker waker_;
  bool ignores_hangup_ = false;
  mutable Mutex mutex_;
  std::optional<int> settled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
