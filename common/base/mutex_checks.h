// Debian builds Abseil with its debugging checks. With them, each lock that a thread takes while it holds another one
// is entered into a graph of all the process's locks, under one global lock. That is slow: gRPC takes nested locks for
// every message.
#pragma once

namespace muster {

// Turns off the detection of possible deadlocks among this process's absl::Mutex. Must come first in main.
void StopWatchingMutexOrder();

}  // namespace muster
