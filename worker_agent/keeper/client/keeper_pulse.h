// The agent's check that the keeper still answers.
//
// Silence is added up by looks, at most kStep each: a machine that was frozen, with the agent on it, has not been
// silent for all that time. A keeper that is silent when the processes must end, because the fence's time has come or
// they were ordered to stop, can't be relied on. It is given up, and its death ends the processes (SIGKILL, see
// keeper.h).
#pragma once

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::agent {

class KeeperPulse {
 public:
  static constexpr absl::Duration kStep = absl::Seconds(1);    // also between two pings
  static constexpr absl::Duration kSilent = absl::Seconds(5);  // then it is reported
  static constexpr absl::Duration kGiveUp =
      absl::Seconds(3);  // and when the processes had to end: then it is given up …
  static constexpr absl::Duration kGrace = absl::Seconds(1);  // … so long after that moment at the earliest

  enum class Finding { kNone, kSilent, kGiveUp };

  // All times are of Clock::Boot. When the fence falls; never: it is not armed.
  void SetFence(MonotonicTime at) { fence_at_ = at; }
  // The keeper got an order by which the processes are gone at that time.
  void MustEndBy(MonotonicTime at);

  // True once every kStep unless a ping is unanswered: send one.
  bool WantsPing(MonotonicTime now);
  Finding Look(MonotonicTime now);
  // An answer came. True if the silence had been reported.
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
