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
  // The most time that ending may take after a signal: about three times what a drain needs.
  static constexpr absl::Duration kSignalPatience = absl::Seconds(30);

  // From now on SIGTERM, SIGINT and SIGHUP are handled, and SIGUSR1 and SIGUSR2 are ignored. Before, each of these five
  // ends the process at once. After SIGTERM or SIGINT the process ends within kSignalPatience, even if something hangs
  // (common/sys/program.h). Call it on the main thread.
  StopWaiter();

  // Any thread may call this when the job of --once has ended; it ends Wait. Only the first exit code counts.
  void NoteSettled(int exit_code);
  std::optional<int> settled() const;

  // Waits for a signal and returns it, or for NoteSettled and returns 0. Calls `on_hangup` for each SIGHUP. If
  // `on_hangup` returns false, SIGHUP ends the wait as well, unless SIGHUP was ignored when the process began. Calls
  // `on_tick` at least once in each `interval`, unless that is infinite. Call it on the main thread.
  int Wait(const std::function<bool()>& on_hangup, absl::Duration interval, const std::function<void()>& on_tick);

  // From now on SIGTERM and SIGINT end the process at once, as by default. Call it on the main thread.
  void LetSignalsKill();

 private:
  SignalPipe signals_;
  const Waker waker_;
  bool ignores_hangup_ = false;
  mutable Mutex mutex_;
  std::optional<int> settled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
