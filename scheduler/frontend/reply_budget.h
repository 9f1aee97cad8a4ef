// Answers that peers have not taken yet. A peer that asks and does not read leaves its answers in our memory: together
// they are bounded, and none waits for ever. Where they fill the room, it is those that wait for longest that go, not
// who comes next. Thread-safe.
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

  // So small that there is always room: what only says that a change was made must not be refused for want of room.
  static constexpr size_t kSmall = 1024;
  // What anybody who reads has taken by then. An answer that waits for longer makes room for others when there is none.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // An answer is about to go out. Nothing when there is no room for it. Unless it is returned by then, `cancel` is
  // called after the limit, or when others need its room, under a lock that Return waits for.
  std::optional<Id> Take(size_t bytes, MonotonicTime now, absl::Duration limit, std::function<void()> cancel);
  // It has gone out, or never will. `cancel` is not called any more.
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
