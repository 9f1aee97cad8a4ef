// When the keeper has to end this node's processes because no scheduler has answered for too long.
//
// The scheduler may start the ranks elsewhere once fence_timeout has passed since the heartbeat that it answered last.
// The keeper ends the processes so long before that moment that they are gone by then: stop_timeout and kFenceMargin.
// Only an answer moves that time, or a welcome. The table of states is in fence.cc.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class Fence {
 public:
  explicit Fence(absl::Duration stop_timeout) : stop_timeout_(stop_timeout) {}

  // Each of these appends to `out` the keeper's orders and the messages worth logging. `timeout`: the scheduler's; 0:
  // the fence is not to be armed.

  // A stream that was dialed at `dialed_at` was welcomed.
  void OnWelcome(absl::Duration timeout, MonotonicTime dialed_at, absl::Duration heartbeat_interval, MonotonicTime now,
                 Effects& out);
  // A heartbeat was answered; `sent_at`: when it was sent, if that is still known.
  void OnAnswer(absl::Duration timeout, std::optional<MonotonicTime> sent_at, absl::Duration heartbeat_interval,
                MonotonicTime now, Effects& out);
  // The scheduler has said its last word on this stream.
  void OnSchedulerLeaving(Effects& out);
  // The scheduler is another one now.
  void OnClusterChanged(Effects& out);
  // The keeper reports that it is ending the processes.
  void OnFallen(Effects& out);

  // True if it fell or is about to, and no answer has moved it yet: others may have the ranks, so nothing may start.
  bool IsDown(MonotonicTime now) const;
  // When it falls, while it is armed.
  const std::optional<MonotonicTime>& falls_at() const { return falls_at_; }
  // The scheduler's timeout when the fence was armed last, also after it fell; 0: it was disarmed since.
  absl::Duration counted_on() const { return counted_on_; }

  // Aborts if the fields are no state of the table.
  void CheckInvariants() const;

 private:
  MonotonicTime FallsAt(MonotonicTime since) const;
  bool IsTimeoutCountedOn() const;
  void Arm(MonotonicTime since, absl::Duration heartbeat_interval, MonotonicTime now, Effects& out);
  void Disarm(Effects& out);

  const absl::Duration stop_timeout_;
  absl::Duration scheduler_timeout_;       // by the scheduler, last
  absl::Duration counted_on_;              // 0: off
  std::optional<MonotonicTime> falls_at_;  // what the keeper is armed with
  MonotonicTime heard_at_;                 // when the last message was sent that the scheduler has answered
  bool is_scheduler_leaving_ = false;
  bool was_too_short_ = false;  // the warning was given
};

}  // namespace muster::agent
