#include "scheduler/loop/event_queue.h"

#include <algorithm>
#include <utility>

namespace muster::scheduler {
namespace {

bool IsNewWork(const Event& event) {
  return std::holds_alternative<JoinRequested>(event) || std::holds_alternative<QueryReceived>(event) ||
         std::holds_alternative<StoreRequested>(event);
}

}  // namespace

bool EventQueue::Post(Event event, std::function<void()> applied) {
  const bool is_new_work = IsNewWork(event);
  MutexLock lock(mutex_);
  if (closed_ || (is_new_work && new_work_ >= new_work_limit_)) return false;
  if (is_new_work) ++new_work_;
  const bool was_empty = events_.empty();
  events_.push_back(QueuedEvent{std::move(event), std::move(applied), clock_.Read().monotonic, is_new_work});
  if (was_empty) news_.NotifyOne();
  return true;
}

void EventQueue::NoteDurable(uint64_t sequence) {
  MutexLock lock(mutex_);
  durable_ = std::max(durable_, sequence);
  news_.NotifyOne();
}

void EventQueue::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  news_.NotifyOne();
}

bool EventQueue::HasNews() const { return !events_.empty() || durable_ != taken_durable_ || closed_ != taken_closed_; }

MonotonicTime EventQueue::SleepUntilNews(MonotonicTime deadline) {
  MonotonicTime now = clock_.Read().monotonic;
  deadline = std::min(deadline, now + kMaxTurn);
  while (!HasNews() && now < deadline) {
    news_.WaitFor(mutex_, deadline - now);
    now = clock_.Read().monotonic;
  }
  return events_.empty() ? deadline : std::min(deadline, events_.front().posted);
}

EventQueue::Taken EventQueue::Take(MonotonicTime deadline, size_t limit) {
  Taken taken;
  MutexLock lock(mutex_);
  const MonotonicTime wanted = SleepUntilNews(deadline);
  taken.now = clock_.Read();
  if (taken.now.monotonic > wanted && taken.now.monotonic - wanted > late_after_) {
    taken.is_late = true;
    taken.late_by = taken.now.monotonic - std::max(wanted, last_taken_);
  }
  last_taken_ = taken.now.monotonic;
  while (!events_.empty() && taken.events.size() < limit) {
    if (events_.front().is_new_work) --new_work_;
    taken.events.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  taken.durable = taken_durable_ = durable_;
  taken_closed_ = closed_;
  taken.is_closed = closed_ && events_.empty();
  return taken;
}

size_t EventQueue::Length() const {
  MutexLock lock(mutex_);
  return events_.size();
}

}  // namespace muster::scheduler
