// The bounded queue of events for the loop. The loop sleeps in Take until an event comes, records become durable, or a
// deadline is due. Thread-safe, but only one thread may call Take.
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

// The longest sleep. Monitors such as systemd's watchdog assume that a loop without turns hangs, so an idle loop must
// make turns as well. A sleep that lasts longer also shows the loop that the whole process was stopped for a while.
inline constexpr absl::Duration kMaxTurn = absl::Seconds(1);

class EventQueue {
 public:
  // At most `new_work_limit` joins, queries and store calls wait at once; other events are always accepted.
  EventQueue(const Clock& clock, size_t new_work_limit, absl::Duration late_after)
      : clock_(clock), new_work_limit_(new_work_limit), late_after_(late_after) {}

  // Adds the event. Returns false if the event is new work and the queue is full, and for every event after Close.
  // Take returns `applied` with the event.
  bool Post(Event event, std::function<void()> applied);

  // Wakes Take because all records up to and including this journal sequence are durable. Ignores a sequence that is
  // lower than an earlier one.
  void NoteDurable(uint64_t sequence);

  // Ends the acceptance of events. Take still returns the events in the queue.
  void Close();

  struct Taken {
    std::vector<QueuedEvent> events;  // oldest first, at most `limit`
    uint64_t durable = 0;             // the highest sequence that NoteDurable got
    Now now;
    bool is_late = false;
    absl::Duration late_by;  // if is_late: the time lost since the last Take
    bool is_closed = false;  // the queue is closed and empty: no event will come any more
  };
  // Sleeps until there is an event, a durable sequence that no Take has returned yet, the deadline or Close, but at
  // most kMaxTurn. Then takes at most `limit` events.
  //
  // `is_late` is set if an event was posted, or the sleep should have ended, more than late_after ago: the process was
  // stopped, or the machine is overloaded. Events that stay in the queue because of `limit` can make the next Take
  // late, too. `late_by` counts only from the last Take, so that it counts no time twice.
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
