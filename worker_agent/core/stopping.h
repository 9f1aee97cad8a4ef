// How long what must end may take: processes that were told to stop, and what holds up a slot's next start.
//
//   told to stop               the keeper kills after stop_timeout
//   stop_timeout + 5 s later   it has not reported: they are killed
//   … and 5 s after that       they can't be killed, and are given up
//
// What a slot's last process left has the same time, from when the slot's next process could have started.
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

  // What is told to stop from now on hears SIGINT first, where the options want it.
  void OnEndSignal(int signal);
  void StopAll(MonotonicTime now, Effects& out);
  // At once, whatever they were told before.
  void KillAll(MonotonicTime now, Effects& out);
  // The keeper stops them by itself.
  void NoteStopped(MonotonicTime now);
  // A process has ended, or what it left.
  void NoteCleared();
  // Whether a slot waits for what its last process left. What is being stopped has a time of its own.
  void NoteHeldUp(bool is_any, MonotonicTime now);

  // Something was told to stop, and is not gone.
  bool IsUnderWay() const { return since_.has_value(); }
  bool was_killed() const { return was_killed_; }
  // How long the processes have for SIGINT before they are told to stop; 0: they don't get it.
  absl::Duration InterruptTime() const;
  // When to kill what was told to stop, or to give up what was killed.
  MonotonicTime StopDeadline() const;
  MonotonicTime HeldUpDeadline() const;

  // Aborts if nothing is there that was told to stop.
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
