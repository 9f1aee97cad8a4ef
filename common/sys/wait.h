// Pauses, and waits for a descriptor, with absl::Duration. For any process and thread: nothing here allocates memory or
// takes a lock.
#pragma once

#include <poll.h>

#include <algorithm>
#include <limits>

#include "absl/time/time.h"

namespace muster {

// Returns the duration for poll(2). Rounds up, because a wait that ends too early would start again at once.
inline int PollMs(absl::Duration patience) {
  if (patience == absl::InfiniteDuration()) return -1;
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(patience, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

// Pauses. A signal ends the pause early.
inline void Pause(absl::Duration duration) { ::poll(nullptr, 0, PollMs(duration)); }

// Returns those of `events` (POLLIN, POLLOUT, …; also POLLHUP and POLLERR) that have come within `patience`. Returns 0
// if none has come, or if a signal came first. With the descriptor -1 it only waits.
inline short WaitFor(int fd, short events, absl::Duration patience) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, PollMs(patience)) > 0 ? one.revents : short{0};
}

// Returns the events that have already come.
inline short LookAt(int fd, short events) { return WaitFor(fd, events, absl::ZeroDuration()); }

}  // namespace muster
