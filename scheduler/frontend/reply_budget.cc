#include "scheduler/frontend/reply_budget.h"

#include <utility>

namespace muster::scheduler {

std::optional<ReplyBudget::Id> ReplyBudget::Take(size_t bytes, MonotonicTime now, absl::Duration limit,
                                                 std::function<void()> cancel) {
  MutexLock lock(mutex_);
  MakeRoom(bytes, now);
  // A single answer may exceed the budget: its size is limited by the scheduler's data.
  if (bytes_ > 0 && bytes > kSmall && bytes_ + bytes > most_bytes_) return std::nullopt;
  bytes_ += bytes;
  replies_.emplace(++last_id_, Reply{bytes, now, now + limit, std::move(cancel)});
  return last_id_;
}

void ReplyBudget::MakeRoom(size_t bytes, MonotonicTime now) {
  for (auto& [id, reply] : replies_) {
    if (bytes_ + bytes <= most_bytes_ || now - reply.since < kPatience) return;
    if (!reply.cancel) continue;
    std::exchange(reply.cancel, nullptr)();
    bytes_ -= std::exchange(reply.bytes, 0);  // gRPC soon frees the memory of a cancelled call
  }
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
    std::exchange(reply.cancel, nullptr)();
  }
}

}  // namespace muster::scheduler
