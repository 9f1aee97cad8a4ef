#include "scheduler/frontend/outgoing_queue.h"

#include <utility>

namespace muster::scheduler {

bool OutgoingQueue::Push(Message message) {
  if (message->has_desired()) {
    desired_ = std::move(message);
    return true;
  }
  if (message->has_acknowledgement()) {
    acknowledgement_ = std::move(message);
    return true;
  }
  if (kept_.size() >= kMaxKept) return false;
  kept_.push_back(std::move(message));
  return true;
}

OutgoingQueue::Message OutgoingQueue::Take() {
  if (!kept_.empty()) {
    Message message = std::move(kept_.front());
    kept_.pop_front();
    if (message->has_welcome()) is_welcomed_ = true;
    return message;
  }
  if (acknowledgement_) return std::exchange(acknowledgement_, nullptr);
  if (desired_ && is_welcomed_) return std::exchange(desired_, nullptr);
  return nullptr;
}

}  // namespace muster::scheduler
