// A Poller (common/net/poller.h) that calls a function for each ready descriptor. One thread owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "common/net/poller.h"

namespace muster::agent {

class CallbackPoller {
 public:
  using Handler = std::function<void()>;

  CallbackPoller();

  // Calls `handler` whenever `fd` is ready for one of `events` (EPOLLIN, EPOLLOUT) or has an error. A second call for
  // the same descriptor replaces the first. Returns false if epoll can't watch the descriptor (a regular file, for
  // example).
  bool Watch(int fd, uint32_t events, Handler handler);
  // Must be called before a watched descriptor is closed. Does nothing for a descriptor that isn't watched.
  void Forget(int fd);

  // Waits for at least one event, or a signal, and calls the handlers. A handler may watch and forget any descriptor,
  // its own included.
  void Wait();

 private:
  Poller poller_;
  std::map<int, Handler> handlers_;
};

}  // namespace muster::agent
