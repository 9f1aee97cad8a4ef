#include "common/net/poller.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr uint64_t kWakerKey = std::numeric_limits<uint64_t>::max();

}  // namespace

Poller::Poller(size_t batch) : epoll_(epoll_create1(EPOLL_CLOEXEC)), events_(batch) {
  if (!epoll_.is_open() || !waker_.is_open() || !Add(waker_.fd(), EPOLLIN, kWakerKey).ok()) {
    status_ = OsError(absl::StatusCode::kResourceExhausted, "no descriptors are left for epoll (see ulimit -n)", errno);
  }
}

absl::Status Poller::Control(int operation, int fd, uint32_t events, uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), operation, fd, &event) == 0) return absl::OkStatus();
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat("descriptor ", fd, " can't be watched",
                                                 error == ENOSPC ? " (see fs.epoll.max_user_watches)" : ""));
}

std::span<const epoll_event> Poller::Wait(absl::Duration patience) {
  const int count = epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), PollMs(patience));
  if (count <= 0) return {};
  const auto end = events_.begin() + count;
  const auto woken = std::find_if(events_.begin(), end, [](const epoll_event& e) { return e.data.u64 == kWakerKey; });
  if (woken == end) return {events_.begin(), end};
  waker_.Clear();
  std::copy(woken + 1, end, woken);
  return {events_.begin(), end - 1};
}

}  // namespace muster
