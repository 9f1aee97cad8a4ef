#include "worker_agent/keeper/poller.h"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>

#include "common/base/check.h"

namespace muster::agent {

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { MUSTER_CHECK(epoll_.is_open(), "epoll_create1 failed"); }

bool Poller::Watch(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const int operation = handlers_.count(fd) != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0) return false;
  handlers_[fd] = std::move(handler);
  return true;
}

void Poller::Forget(int fd) {
  if (handlers_.erase(fd) != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::Wait() {
  epoll_event events[64];
  int count = 0;
  do {
    count = ::epoll_wait(epoll_.get(), events, 64, -1);
  } while (count < 0 && errno == EINTR);
  for (int i = 0; i < count; ++i) {
    auto it = handlers_.find(events[i].data.fd);
    if (it == handlers_.end()) continue;  // an earlier handler of this batch forgot it
    Handler handler = it->second;         // a copy: the handler may forget itself
    handler();
  }
}

}  // namespace muster::agent
