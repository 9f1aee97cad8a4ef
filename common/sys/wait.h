// Pauses, and waiting for a descriptor, by a duration. For any process and thread: nothing allocates or takes a lock.
#pragma once

#include <poll.h>

#include <algorithm>
#include <limits>

#include "absl/time/time.h"

namespace muster {

// As poll(2) takes it; rounded up, since a wait that ends too early begins again at once.
inline int PollMs(absl::Duration patience) {
  if (patience == absl::InfiniteDuration()) return -1;
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(patience, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

// Ends early where a signal comes.
inline void Pause(absl::Duration duration) { ::poll(nullptr, 0, PollMs(duration)); }

// What has come of `events` (POLLIN, POLLOUT, …; POLLHUP and POLLERR besides) within `patience`; 0: nothing, or a
// signal came first. A descriptor of -1 just waits.
inline short WaitFor(int fd, short events, absl::Duration patience) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, PollMs(patience)) > 0 ? one.revents : short{0};
}

// What has come until now.
inline short LookAt(int fd, short events) { return WaitFor(fd, events, absl::ZeroDuration()); }

}  // namespace muster
