// A mailbox: other threads push things into it, and a loop that waits for descriptors takes them. It may grow
// without limit, so the threads that push must limit what they push.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace muster {

template <typename T>
class Mailbox {
 public:
  // A push into an empty mailbox calls `wake`, which must not block. It is never called after Close.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // May be called by any thread. Does nothing after Close.
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

  // Must be called when the loop has ended and takes no more things.
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
