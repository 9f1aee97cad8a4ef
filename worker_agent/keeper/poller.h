// epoll with a function for each descriptor. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "common/base/unique_fd.h"

namespace muster::agent {

class Poller {
 public:
  using Handler = std::function<void()>;

  Poller();

  // Calls `handler` whenever `fd` is ready for one of `events` (EPOLLIN, EPOLLOUT), or broken. A second call for the
  // same descriptor replaces the first. False if the descriptor can't be watched (a regular file).
  bool Watch(int fd, uint32_t events, Handler handler);
  // Must be called before a watched descriptor is closed. Harmless for one that isn't watched.
  void Forget(int fd);

  // Waits for at least one event and calls the handlers; these may watch and forget anything.
  void Wait();

 private:
  UniqueFd epoll_;
  std::map<int, Handler> handlers_;
};

}  // namespace muster::agent
