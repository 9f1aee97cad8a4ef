// The fence's time in a page of memory that agent, guardian, keeper and shims share: whoever of them is left can see
// that the keeper has not obeyed, also when nobody is left to tell it. CLOCK_BOOTTIME, ms.
//
// The fence falls at `fence_ms`; the keeper stops the processes then, orders the death of what is left of them
// stop_timeout later, and says so (`obeyed_ms`). From then on it sees to it that each shim carries the order out. One
// that still has not when that has been seen for kOverdueMs is ended with all that it has started, by the guardian, and
// each shim ends what is its own. Seen for so long: a machine that was suspended leaves the keeper that time. The
// scheduler lets the ranks start elsewhere 5 s after stop_timeout.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"

namespace muster::agent {

class FencePage {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kOverdueMs = 1000;
  static constexpr int kLookMs = 1000;    // how often to look, at least …
  static constexpr int kDueLookMs = 100;  // … and once the keeper should have obeyed

  // Before the forks that share it. It stays for as long as the process lives. Error: no memory.
  static absl::StatusOr<FencePage*> Create(int64_t stop_timeout_ms);

  // By the agent.
  void SetFence(int64_t fence_ms) { fence_ms_ = fence_ms; }

  // By the keeper: it has ordered the death of what was left at the fence that fell at that time.
  void NoteObeyed(int64_t fence_ms) { obeyed_ms_ = fence_ms; }
  // … and in each turn of its loop.
  void NoteTurn(int64_t now_ms) { turn_ms_ = now_ms; }

  // By the keeper, before it starts anything.
  bool HasFallen(int64_t now_ms) const { return now_ms >= fence_ms_; }

  // By guardian and shims: see FenceWatch.
  bool IsDue(int64_t now_ms) const {
    const int64_t fence_ms = fence_ms_;
    return fence_ms != kNever && obeyed_ms_ < fence_ms && now_ms - stop_timeout_ms_ >= fence_ms;
  }
  int64_t last_turn_ms() const { return turn_ms_; }

 private:
  explicit FencePage(int64_t stop_timeout_ms) : stop_timeout_ms_(stop_timeout_ms) {}

  const int64_t stop_timeout_ms_;
  std::atomic<int64_t> fence_ms_ = kNever;
  std::atomic<int64_t> obeyed_ms_ = std::numeric_limits<int64_t>::min();
  std::atomic<int64_t> turn_ms_ = 0;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "it works between processes");

// What guardian and shims look through.
class FenceWatch {
 public:
  explicit FenceWatch(const FencePage& page) : page_(page) {}

  // Whether it is time to end everything.
  bool IsOverdue(int64_t now_ms) {
    due_since_ms_ = page_.IsDue(now_ms) ? std::min(due_since_ms_, now_ms) : FencePage::kNever;
    return due_since_ms_ != FencePage::kNever && now_ms - due_since_ms_ >= FencePage::kOverdueMs;
  }
  int look_ms() const { return due_since_ms_ == FencePage::kNever ? FencePage::kLookMs : FencePage::kDueLookMs; }

 private:
  const FencePage& page_;
  int64_t due_since_ms_ = FencePage::kNever;
};

}  // namespace muster::agent
