// Answers that peers have not taken yet. A peer that asks and does not read leaves its answers in our memory. So their
// total size and their waiting time are limited. If there is no room, those that have waited longest are cancelled, not
// the newest. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace muster::scheduler {

class ReplyBudget {
 public:
  using Id = uint64_t;

  explicit ReplyBudget(size_t most_bytes) : most_bytes_(most_bytes) {}

  // An answer this small always has room: a confirmation of a change must not be refused for lack of memory.
  static constexpr size_t kSmall = 1024;
  // A peer that reads takes its answer in this time. An answer that has waited longer makes room for others if needed.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // Reserves room for an answer; none if there is no room. Unless the answer is returned by then, calls `cancel` after
  // the limit, or when others need its room, under a lock that Return waits for.
  std::optional<Id> Take(size_t bytes, MonotonicTime now, absl::Duration limit, std::function<void()> cancel);
  // The answer was sent, or never will be. `cancel` is not called after this.
  void Return(Id id);

  void Sweep(MonotonicTime now);

 private:
  struct Reply {
    size_t bytes = 0;
    MonotonicTime since;
    MonotonicTime deadline;
    std::function<void()> cancel;
  };
  void MakeRoom(size_t bytes, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  Mutex mutex_;
  Id last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Id, Reply> replies_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace muster::scheduler
