// The bounded queue before the loop. The loop sleeps here until there is an event, durable news or a deadline.
// Thread-safe; one thread takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

struct QueuedEvent {
  Event event;
  std::function<void()> applied;
  MonotonicTime posted;
  bool is_new_work = false;
};

// The longest sleep. A monitor takes the loop for hung when it makes no turn for long, so an idle loop must make turns
// as well. This is also how the loop notices that the whole process was stopped for a while.
inline constexpr absl::Duration kMaxTurn = absl::Seconds(1);

class EventQueue {
 public:
  // At most `new_work_limit` joins, queries and store calls wait at once; other events are always accepted.
  EventQueue(const Clock& clock, size_t new_work_limit, absl::Duration late_after)
      : clock_(clock), new_work_limit_(new_work_limit), late_after_(late_after) {}

  // False if the queue is full for new work, and for every event after Close.
  bool Post(Event event, std::function<void()> applied);

  // All records up to and including this journal sequence are durable. The sequence never falls.
  void NoteDurable(uint64_t sequence);

  // Accepts no more events; those in the queue are still to be taken.
  void Close();

  struct Taken {
    std::vector<QueuedEvent> events;  // oldest first, at most the asked number
    uint64_t durable = 0;             // the latest NoteDurable
    Now now;
    bool is_late = false;
    absl::Duration late_by;  // if it is: the time lost since the last Take
    bool is_closed = false;  // and the queue is empty: nothing will come any more
  };
  // Sleeps until there is an event, durable news that no Take has returned yet, the deadline or Close, but at most
  // kMaxTurn. Then takes at most `limit` events. The caller is late if an event was posted, or the sleep should have
  // ended, more than late_after ago: the process was stopped, or the machine is overloaded. Events beyond `limit` make
  // the next Take late, too, but that time is lost only once.
  Taken Take(MonotonicTime deadline, size_t limit);

  size_t Length() const;

 private:
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sleeps. Returns the earliest moment at which the caller wanted to be awake.
  MonotonicTime SleepUntilNews(MonotonicTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const size_t new_work_limit_;
  const absl::Duration late_after_;
  mutable Mutex mutex_;
  CondVar news_;
  std::deque<QueuedEvent> events_ ABSL_GUARDED_BY(mutex_);
  size_t new_work_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t taken_durable_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool taken_closed_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime last_taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
