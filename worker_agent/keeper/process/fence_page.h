// The fence's time, in a page of memory that agent, guardian, keeper and shims share. If the keeper does not obey the
// fence, each of the others can see that without a message. All times are of Clock::Boot.
//
// The fence falls at `fence_ns_`: then the keeper stops the processes. After fence_stop_timeout it orders the shims to
// kill the processes that are left, and notes that in `obeyed_ns_`. From then on it makes sure that each shim carries
// the order out.
//
// A keeper that has not noted this in time is overdue. Guardian and shims act once they have seen it overdue for
// kOverdue: the guardian kills the keeper and all that it has started, and each shim kills its own processes. They wait
// because the keeper needs time to act after the machine was suspended. The scheduler lets the ranks start
// elsewhere 5 s after fence_stop_timeout (kFenceMargin).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::agent {

class FencePage {
 public:
  static constexpr absl::Duration kOverdue = absl::Seconds(1);
  static constexpr int kLookMs = 1000;    // guardian and shims look at least this often
  static constexpr int kDueLookMs = 100;  // and this often once the keeper should have obeyed

  // Must be called before the processes that share the page are forked. The page stays for as long as the process
  // lives. Error: no memory.
  static absl::StatusOr<FencePage*> Create(absl::Duration stop_time);

  // Arms the fence, or disarms it (never). Called by the agent.
  void SetFence(MonotonicTime fence) { fence_ns_ = fence.nanoseconds(); }

  // Called by the keeper when it has ordered the shims to kill what is left. `fence`: the time of the fence that it has
  // obeyed.
  void NoteObeyed(MonotonicTime fence) { obeyed_ns_ = std::max(obeyed_ns_.load(), fence.nanoseconds()); }
  // Called by the keeper in each turn of its loop.
  void NoteTurn(MonotonicTime now) { turn_ns_ = now.nanoseconds(); }

  // Called by the keeper before it starts a process.
  bool HasFallen(MonotonicTime now) const { return now >= MonotonicTime::FromNanoseconds(fence_ns_); }

  // Called by guardian and shims: see FenceWatch.
  bool IsDue(MonotonicTime now) const {
    const MonotonicTime fence = MonotonicTime::FromNanoseconds(fence_ns_);
    return !fence.is_never() && obeyed_ns_ < fence.nanoseconds() && now - stop_time_ >= fence;
  }
  MonotonicTime last_turn() const { return MonotonicTime::FromNanoseconds(turn_ns_); }

 private:
  explicit FencePage(absl::Duration stop_time) : stop_time_(stop_time) {}

  const absl::Duration stop_time_;  // --fence_stop_timeout
  std::atomic<int64_t> fence_ns_ = MonotonicTime::Never().nanoseconds();
  std::atomic<int64_t> obeyed_ns_ = std::numeric_limits<int64_t>::min();
  std::atomic<int64_t> turn_ns_ = 0;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "it works between processes");

// The view of the page for guardian and shims.
class FenceWatch {
 public:
  explicit FenceWatch(const FencePage& page) : page_(page) {}

  // True if it is time to end everything.
  bool IsOverdue(MonotonicTime now) {
    due_since_ = page_.IsDue(now) ? std::min(due_since_, now) : MonotonicTime::Never();
    return !due_since_.is_never() && now - due_since_ >= FencePage::kOverdue;
  }
  int look_ms() const { return due_since_.is_never() ? FencePage::kLookMs : FencePage::kDueLookMs; }

 private:
  const FencePage& page_;
  MonotonicTime due_since_ = MonotonicTime::Never();
};

}  // namespace muster::agent
