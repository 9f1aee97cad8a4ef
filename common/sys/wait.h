// Pauses, and waits for a descriptor, by a duration. For any process and thread: nothing allocates or takes a lock.
#pragma once

#include <poll.h>

#include <algorithm>
#include <limits>

#include "absl/time/time.h"

namespace muster {

// Returns the duration as poll(2) takes it; rounded up, since a wait that ends too early begins again at once.
inline int PollMs(absl::Duration patience) {
  if (patience == absl::InfiniteDuration()) return -1;
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(patience, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

// Pauses; a signal ends it early.
inline void Pause(absl::Duration duration) { ::poll(nullptr, 0, PollMs(duration)); }

// Returns the `events` that have come (POLLIN, POLLOUT, …; also POLLHUP and POLLERR) within `patience`; 0 if nothing
// came, or a signal came first. A descriptor of -1 just waits.
inline short WaitFor(int fd, short events, absl::Duration patience) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, PollMs(patience)) > 0 ? one.revents : short{0};
}

// Returns the events that have come so far.
inline short LookAt(int fd, short events) { return WaitFor(fd, events, absl::ZeroDuration()); }

}  // namespace muster
