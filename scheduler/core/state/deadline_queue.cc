#include "scheduler/core/state/deadline_queue.h"

namespace muster::scheduler {

void DeadlineQueue::Set(Handle handle, MonotonicTime when) {
  if (when.is_never()) {
    planned_.erase(handle);  // PopDue drops its heap entry when that reaches the top
    return;
  }
  auto [it, is_new] = planned_.try_emplace(handle, Planned{when, when});
  if (!is_new) {
    it->second.when = when;
    if (when >= it->second.queued) return;
    it->second.queued = when;
  }
  heap_.emplace(when, handle);
}

DeadlineQueue::Handle DeadlineQueue::PopDue(MonotonicTime now) {
  while (!heap_.empty() && heap_.top().first <= now) {
    const auto [queued, handle] = heap_.top();
    heap_.pop();
    const auto it = planned_.find(handle);
    if (it == planned_.end() || it->second.queued != queued) continue;
    if (it->second.when == queued) {
      planned_.erase(it);
      return handle;
    }
    // The deadline was moved later: queue it again at its new time, even if this is already due.
    it->second.queued = it->second.when;
    heap_.emplace(it->second.when, handle);
  }
  return 0;
}

}  // namespace muster::scheduler
