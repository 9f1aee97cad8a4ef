// An eventfd that wakes a thread waiting for descriptors.
#pragma once

#include <sys/eventfd.h>

#include "common/base/unique_fd.h"

namespace muster {

class Waker {
 public:
  Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  bool is_open() const { return fd_.is_open(); }  // false: there was no descriptor left (errno)
  int fd() const { return fd_.get(); }            // readable between Wake and Clear

  // Any thread.
  void Wake() const { eventfd_write(fd_.get(), 1); }
  // Call before looking for new work: a later Wake wakes again.
  void Clear() const {
    eventfd_t ignored = 0;
    eventfd_read(fd_.get(), &ignored);
  }

 private:
  const UniqueFd fd_;
};

}  // namespace muster
