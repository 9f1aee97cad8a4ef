// A Poller with a function for each descriptor. One thread.
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

  // Calls `handler` whenever `fd` is ready for one of `events` (EPOLLIN, EPOLLOUT), or broken. A second call for the
  // same descriptor replaces the first. False if the descriptor can't be watched (a regular file).
  bool Watch(int fd, uint32_t events, Handler handler);
  // Must be called before a watched descriptor is closed. Harmless for one that isn't watched.
  void Forget(int fd);

  // Waits for at least one event, or a signal, and calls the handlers; these may watch and forget anything.
  void Wait();

 private:
  Poller poller_;
  std::map<int, Handler> handlers_;
};

}  // namespace muster::agent
