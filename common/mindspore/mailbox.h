// Work for the server's thread from other threads. Outlives the server while somebody still holds it; what is posted
// then is dropped.
#pragma once

#include <sys/eventfd.h>

#include <functional>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/unique_fd.h"

namespace muster::mindspore {

class Mailbox {
 public:
  using Task = std::function<void()>;

  Mailbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Readable while tasks wait; -1 when there are no descriptors left.
  int fd() const { return fd_.get(); }

  void Post(Task task) {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    tasks_.push_back(std::move(task));
    eventfd_write(fd_.get(), 1);
  }

  std::vector<Task> TakeAll() {
    const MutexLock lock(mutex_);
    eventfd_t count = 0;
    eventfd_read(fd_.get(), &count);
    return std::exchange(tasks_, {});
  }

  void Close() {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    tasks_.clear();
  }

 private:
  const UniqueFd fd_;
  Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::mindspore
