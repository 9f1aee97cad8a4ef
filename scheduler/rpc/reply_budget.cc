#include "scheduler/rpc/reply_budget.h"

#include <utility>

namespace muster::scheduler {

std::optional<ReplyBudget::Id> ReplyBudget::Take(size_t bytes, MonotonicTime deadline, std::function<void()> cancel) {
  MutexLock lock(mutex_);
  // One alone may be larger: it is bounded by what there is to tell.
  if (!replies_.empty() && bytes_ + bytes > most_bytes_) return std::nullopt;
  bytes_ += bytes;
  replies_.emplace(++last_id_, Reply{bytes, deadline, std::move(cancel)});
  return last_id_;
}

void ReplyBudget::Return(Id id) {
  MutexLock lock(mutex_);
  const auto found = replies_.find(id);
  if (found == replies_.end()) return;
  bytes_ -= found->second.bytes;
  replies_.erase(found);
}

void ReplyBudget::Sweep(MonotonicTime now) {
  MutexLock lock(mutex_);
  for (auto& [id, reply] : replies_) {
    if (reply.deadline > now || !reply.cancel) continue;
    reply.cancel();
    reply.cancel = nullptr;
  }
}

}  // namespace muster::scheduler
