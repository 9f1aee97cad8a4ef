// The time limits for processes that were asked to stop, and for remains (leftovers.h) that hold up the next start in a
// slot.
//
//   the processes were asked to stop      nothing: the keeper kills them after stop_timeout
//   stop_timeout + 5 s later              orders the keeper to kill all that are left
//   5 s after that                        gives up: the processes that are left can't be killed
//
// Remains have the same time in all (stop_timeout + 10 s). It begins when the slot's next process could have started.
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

  // Notes the signal that ends the agent. After SIGINT, StopAll sends the processes SIGINT first, if
  // `passes_interrupt`.
  void OnEndSignal(int signal);
  void StopAll(MonotonicTime now, Effects& out);
  // Kills at once, even processes that were asked to stop before.
  void KillAll(MonotonicTime now, Effects& out);
  // The keeper is stopping the processes by itself, because the fence fell.
  void NoteStopped(MonotonicTime now);
  // A process has ended, or its remains are gone.
  void NoteCleared();
  // `is_any`: a slot waits for the remains of its last process. A stop that is under way has its own deadline, so the
  // time for remains does not run during it.
  void NoteHeldUp(bool is_any, MonotonicTime now);

  // True while a process that was asked to stop is not gone.
  bool IsUnderWay() const { return since_.has_value(); }
  bool was_killed() const { return was_killed_; }
  // Returns the time between SIGINT and stop_signal; 0: the processes don't get SIGINT.
  absl::Duration InterruptTime() const;
  // Returns when to kill the processes that were asked to stop, or when to give up those that were killed.
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
