// Debian builds Abseil with its debugging checks: each lock that a thread takes while it holds another one goes into a
// graph of all locks of the process, under one global lock. gRPC takes such locks for every message.
#pragma once

namespace muster {

// Turns off the detection of possible deadlocks among this process's absl::Mutex. Must come first in main.
void StopWatchingMutexOrder();

}  // namespace muster
