// Whether the keeper still answers, judged by the agent.
//
// Silence is added up by looks, at most kStepMs each: a machine that was frozen, with the agent on it, has not been
// silent for all that time. A keeper that is silent when the processes must end, since the fence's time has come or
// they were told to stop, can't be relied on: it is given up, and its death is the processes' end (SIGKILL, see
// keeper.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace muster::agent {

class KeeperPulse {
 public:
  static constexpr int64_t kStepMs = 1000;    // also between two pings
  static constexpr int64_t kSilentMs = 5000;  // then it is told
  static constexpr int64_t kGiveUpMs = 3000;  // and when the processes had to end: then it is given up …
  static constexpr int64_t kGraceMs = 1000;   // … so long after that moment at the earliest

  enum class Finding { kNone, kSilent, kGiveUp };

  // All times: CLOCK_BOOTTIME, ms. When the fence falls; none: it is not armed.
  void SetFence(std::optional<int64_t> at_ms) { fence_ms_ = at_ms.value_or(kNever); }
  // The keeper was told something by which the processes are gone at that time.
  void MustEndBy(int64_t at_ms);

  // True once every kStepMs unless a ping is unanswered: send one.
  bool WantsPing(int64_t now_ms);
  Finding Look(int64_t now_ms);
  // An answer came. True if the silence had been told.
  bool Heard();

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  int64_t fence_ms_ = kNever;
  int64_t order_ms_ = kNever;
  int64_t looked_ms_ = 0;
  int64_t pinged_ms_ = 0;
  int64_t silent_ms_ = 0;
  bool is_waiting_ = false;  // for the answer to a ping
  bool has_told_ = false;
  bool has_ping_since_order_ = false;
};

}  // namespace muster::agent
