// What other threads leave for a loop that waits for descriptors. Not bounded: whoever pushes is.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace muster {

template <typename T>
class Mailbox {
 public:
  // `wake` is called by whoever pushes into an empty mailbox, never after Close; must not block.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Any thread. Dropped after Close.
  void Push(T thing) {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    things_.push_back(std::move(thing));
    if (things_.size() == 1) wake_();
  }

  // In the order in which they came.
  std::vector<T> TakeAll() {
    const MutexLock lock(mutex_);
    return std::exchange(things_, {});
  }

  // The loop has gone: nothing is taken any more.
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
