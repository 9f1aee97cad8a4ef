// Events from other threads on their way to the loop.
#pragma once

#include <vector>

#include "common/base/mutex.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class EventQueue {
 public:
  EventQueue();
  ~EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Any thread.
  void Push(Event event);

  // Readable while events wait.
  int fd() const { return fd_; }
  std::vector<Event> TakeAll();

 private:
  const int fd_;
  Mutex mutex_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
