#include "worker_agent/runtime/event_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "common/base/check.h"

namespace muster::agent {

EventQueue::EventQueue() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(fd_ >= 0, "an eventfd can be had at the start");
}

EventQueue::~EventQueue() { close(fd_); }

void EventQueue::Push(Event event) {
  MutexLock lock(mutex_);
  events_.push_back(std::move(event));
  eventfd_write(fd_, 1);
}

std::vector<Event> EventQueue::TakeAll() {
  MutexLock lock(mutex_);
  eventfd_t count = 0;
  eventfd_read(fd_, &count);
  return std::exchange(events_, {});
}

}  // namespace muster::agent
