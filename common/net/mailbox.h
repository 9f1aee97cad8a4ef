// Things that other threads leave for a loop that waits for descriptors. Not bounded: the pushing code has its own
// bound.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace muster {

template <typename T>
class Mailbox {
 public:
  // A push into an empty mailbox calls `wake`, never after Close; it must not block.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Any thread. Does nothing after Close.
  void Push(T thing) {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    things_.push_back(std::move(thing));
    if (things_.size() == 1) wake_();
  }

  // Returns all things in the order in which they came.
  std::vector<T> TakeAll() {
    const MutexLock lock(mutex_);
    return std::exchange(things_, {});
  }

  // Called when the loop has ended: nothing is taken any more.
  void Close() {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    things_.clear();
  }

 private:
  const std::function<void()> wake_;
  Mutex mutex_;
  std::vector<T> things_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
