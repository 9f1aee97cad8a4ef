// An eventfd that wakes a thread which waits for descriptors.
#pragma once

#include <sys/eventfd.h>

#include "common/base/unique_fd.h"

namespace muster {

class Waker {
 public:
  Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  bool is_open() const { return fd_.is_open(); }  // false: no descriptor was left (see errno)
  int fd() const { return fd_.get(); }            // readable from Wake to Clear

  // May be called by any thread.
  void Wake() const { eventfd_write(fd_.get(), 1); }
  // Call it before looking for new work, so that a Wake after it wakes the thread again.
  void Clear() const {
    eventfd_t ignored = 0;
    eventfd_read(fd_.get(), &ignored);
  }

 private:
  const UniqueFd fd_;
};

}  // namespace muster
