// Decides when the keeper must end this node's processes because no scheduler has answered for too long.
//
// The scheduler may start the ranks elsewhere once fence_timeout has passed since the heartbeat that it answered last.
// The keeper begins to end the processes fence_stop_timeout + kFenceMargin before that moment, so that they are gone by
// then (fence_times.h). Only an answer or a welcome moves this time. The table of states is in fence.cc.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class Fence {
 public:
  // `stop_time`: the keeper takes at most so long to end all processes (--fence_stop_timeout).
  explicit Fence(absl::Duration stop_time) : stop_time_(stop_time) {}

  // Each On… method appends orders for the keeper and messages for the user to `out`. `timeout`: the scheduler's
  // timeout of the fence; 0: the fence must not be armed.

  // A stream that was dialed at `dialed_at` was welcomed.
  void OnWelcome(absl::Duration timeout, MonotonicTime dialed_at, absl::Duration heartbeat_interval, MonotonicTime now,
                 Effects& out);
  // A heartbeat was answered; `sent_at`: when it was sent, if that is still known.
  void OnAnswer(absl::Duration timeout, std::optional<MonotonicTime> sent_at, absl::Duration heartbeat_interval,
                MonotonicTime now, Effects& out);
  // The scheduler has announced that it is leaving.
  void OnSchedulerLeaving(Effects& out);
  // Another cluster's scheduler answers now.
  void OnClusterChanged(Effects& out);
  // The keeper reports that it is ending the processes.
  void OnFallen(Effects& out);

  // Returns true if the fence has fallen, or its time has come, and no answer has armed it again. Then other nodes may
  // have the ranks, so nothing may start here.
  bool IsDown(MonotonicTime now) const;
  // Returns when the fence falls; nothing if it is not armed.
  const std::optional<MonotonicTime>& falls_at() const { return falls_at_; }
  // Returns the timeout with which the fence was armed last, also after its fall; 0: it is off.
  absl::Duration counted_on() const { return counted_on_; }

  // Aborts if the fields match no state of the table.
  void CheckInvariants() const;

 private:
  MonotonicTime FallsAt(MonotonicTime since) const;
  bool IsTimeoutCountedOn() const;
  void Arm(MonotonicTime since, absl::Duration heartbeat_interval, MonotonicTime now, Effects& out);
  void Disarm(Effects& out);

  const absl::Duration stop_time_;
  absl::Duration scheduler_timeout_;       // the last one that the scheduler sent
  absl::Duration counted_on_;              // 0: off
  std::optional<MonotonicTime> falls_at_;  // the time that the keeper was given
  MonotonicTime heard_at_;                 // when the last message was sent that the scheduler has answered
  bool is_scheduler_leaving_ = false;
  bool was_too_short_ = false;  // SayFenceTooShort was shown
};

}  // namespace muster::agent
