// The time limits of an end: of processes that were asked to stop, and of remains that hold up a slot's next start.
//
//   stop was asked             the keeper kills after stop_timeout
//   stop_timeout + 5 s later   it has not reported: they are killed
//   … and 5 s after that       they can't be killed, and are given up
//
// The remains of a slot's last process have the same time, from when the slot's next process could have started.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

class Stopping {
 public:
  // `processes` outlives this. `passes_interrupt`: see AgentOptions.
  Stopping(const Processes& processes, absl::Duration stop_timeout, bool passes_interrupt)
      : processes_(processes), stop_timeout_(stop_timeout), passes_interrupt_(passes_interrupt) {}

  // Processes that are stopped from now on get SIGINT first, where the options want it.
  void OnEndSignal(int signal);
  void StopAll(MonotonicTime now, Effects& out);
  // Kills at once, even processes that were asked to stop before.
  void KillAll(MonotonicTime now, Effects& out);
  // The keeper stops them by itself.
  void NoteStopped(MonotonicTime now);
  // A process has ended, or its remains are gone.
  void NoteCleared();
  // `is_any`: a slot waits for the remains of its last process. A stop under way has its own deadline, and resets this
  // one.
  void NoteHeldUp(bool is_any, MonotonicTime now);

  // True while a process that was asked to stop is not gone.
  bool IsUnderWay() const { return since_.has_value(); }
  bool was_killed() const { return was_killed_; }
  // The time between SIGINT and stop_signal; 0: the processes don't get SIGINT.
  absl::Duration InterruptTime() const;
  // The time to kill the stopped processes, or to give up the killed ones.
  MonotonicTime StopDeadline() const;
  MonotonicTime HeldUpDeadline() const;

  // Aborts if a stop is under way but nothing is left to stop.
  void CheckInvariants() const;

 private:
  const Processes& processes_;
  const absl::Duration stop_timeout_;
  const bool passes_interrupt_;
  bool is_interrupted_ = false;
  std::optional<MonotonicTime> since_;
  std::optional<MonotonicTime> held_up_since_;
  bool was_killed_ = false;
};

}  // namespace muster::agent
