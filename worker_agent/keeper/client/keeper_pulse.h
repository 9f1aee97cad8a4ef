// The agent's check that the keeper still answers.
//
// Each Look adds at most kStep to the keeper's silence. So while the whole machine is frozen, the agent included,
// hardly any silence is counted.
//
// If the keeper is silent when the processes must end (the fence's time has come, or they were ordered to stop), it
// can't be relied on. Then the agent gives it up: it kills the keeper, and the processes end with it (SIGKILL, see
// keeper.h).
#pragma once

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::agent {

class KeeperPulse {
 public:
  // The most that one Look counts; also the time between two pings.
  static constexpr absl::Duration kStep = absl::Seconds(1);
  static constexpr absl::Duration kSilent = absl::Seconds(5);  // a silence that is reported
  // The keeper is given up after this silence if the processes had to end at least kGrace ago.
  static constexpr absl::Duration kGiveUp = absl::Seconds(3);
  static constexpr absl::Duration kGrace = absl::Seconds(1);

  enum class Finding { kNone, kSilent, kGiveUp };

  // Sets when the fence falls; Never(): it is not armed. All times of this class are of Clock::Boot.
  void SetFence(MonotonicTime at) { fence_at_ = at; }
  // Notes that the keeper was given an order after which the processes must be gone by `at`.
  void MustEndBy(MonotonicTime at);

  // Returns true once every kStep, unless a ping is unanswered. The caller must then send a ping.
  bool WantsPing(MonotonicTime now);
  Finding Look(MonotonicTime now);
  // Notes that an answer came. Returns true if the silence had been reported.
  bool Heard();

 private:
  MonotonicTime fence_at_ = MonotonicTime::Never();
  MonotonicTime order_at_ = MonotonicTime::Never();
  MonotonicTime looked_at_;
  MonotonicTime pinged_at_;
  absl::Duration silent_;
  bool is_waiting_ = false;  // for the answer to a ping
  bool has_reported_ = false;
  bool has_ping_since_order_ = false;
};

}  // namespace muster::agent
