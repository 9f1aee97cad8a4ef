#include "worker_agent/core/stopping.h"

#include "common/base/check.h"

namespace muster::agent {
namespace {

constexpr int kInterruptSignal = 2;

// The keeper kills the processes after stop_timeout, and reports that. The agent waits this much longer for its
// reports.
constexpr absl::Duration kStopGrace = absl::Seconds(5);

}  // namespace

void Stopping::OnEndSignal(int signal) { is_interrupted_ = passes_interrupt_ && signal == kInterruptSignal; }

void Stopping::StopAll(MonotonicTime now, Effects& out) {
  if (since_ || !processes_.IsAnyLeft()) return;
  since_ = now;
  out.push_back(StopProcesses{InterruptTime()});
}

void Stopping::KillAll(MonotonicTime now, Effects& out) {
  if (!processes_.IsAnyLeft()) return;
  NoteStopped(now);
  was_killed_ = true;
  out.push_back(KillProcesses{});
}

void Stopping::NoteStopped(MonotonicTime now) {
  if (!since_) since_ = now;
}

void Stopping::NoteCleared() {
  if (processes_.IsAnyLeft()) return;
  since_.reset();
  was_killed_ = false;
}

void Stopping::NoteHeldUp(bool is_any, MonotonicTime now) {
  if (!is_any || since_) {
    held_up_since_.reset();
  } else if (!held_up_since_) {
    held_up_since_ = now;
  }
}

// On Ctrl-C the processes first get SIGINT, so that scripts can save their state. Those that still run after a third of
// stop_timeout get stop_signal. SIGKILL follows at the end of stop_timeout.
absl::Duration Stopping::InterruptTime() const { return is_interrupted_ ? stop_timeout_ / 3 : absl::ZeroDuration(); }

MonotonicTime Stopping::StopDeadline() const {
  if (!since_ || !processes_.IsAnyLeft()) return MonotonicTime::Never();
  const MonotonicTime kill_at = *since_ + (stop_timeout_ + kStopGrace);
  return was_killed_ ? kill_at + kStopGrace : kill_at;
}

MonotonicTime Stopping::HeldUpDeadline() const {
  return held_up_since_ ? *held_up_since_ + (stop_timeout_ + 2 * kStopGrace) : MonotonicTime::Never();
}

void Stopping::CheckInvariants() const {
  MUSTER_CHECK(!since_ || processes_.IsAnyLeft(), "only processes that are left are being stopped");
}

}  // namespace muster::agent
