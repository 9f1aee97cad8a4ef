#include "worker_agent/keeper/callback_poller.h"

#include <utility>

#include "common/base/check.h"

namespace muster::agent {

CallbackPoller::CallbackPoller() { MUSTER_CHECK(poller_.status().ok(), "two descriptors are available at the start"); }

bool CallbackPoller::Watch(int fd, uint32_t events, Handler handler) {
  const auto key = static_cast<uint64_t>(fd);
  const bool is_watched = handlers_.count(fd) != 0;
  const absl::Status status = is_watched ? poller_.Modify(fd, events, key) : poller_.Add(fd, events, key);
  if (!status.ok()) return false;
  handlers_[fd] = std::move(handler);
  return true;
}

void CallbackPoller::Forget(int fd) {
  if (handlers_.erase(fd) != 0) poller_.Remove(fd);
}

void CallbackPoller::Wait() {
  for (const epoll_event& event : poller_.Wait()) {
    const auto it = handlers_.find(static_cast<int>(event.data.u64));
    if (it == handlers_.end()) continue;  // an earlier handler of this batch called Forget for it
    const Handler handler = it->second;   // a copy: the handler may forget itself
    handler();
  }
}

}  // namespace muster::agent
