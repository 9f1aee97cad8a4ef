// Limits the memory of answers that peers have not read yet. If a peer asks but does not read, its answers stay in the
// scheduler's memory. So the total size and the waiting time of answers are limited. If a new answer needs room, the
// answers that have waited longest are cancelled. Thread-safe.
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

  // Reserves room for an answer; returns nullopt if there is no room. Calls `cancel` after `limit`, or when another
  // answer needs the room, unless Return is called first. It holds its lock while it calls `cancel`, so `cancel` must
  // not call Return.
  std::optional<Id> Take(size_t bytes, MonotonicTime now, absl::Duration limit, std::function<void()> cancel);
  // Gives the room back. Call it when the answer was sent, or will never be. After this `cancel` is not called.
  void Return(Id id);

  // Cancels the answers that have waited longer than their limit.
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
