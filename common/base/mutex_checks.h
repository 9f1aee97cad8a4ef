// Debian builds Abseil with its debugging checks: each lock that a thread takes while it holds another one goes into
// a graph of all locks of the process, under one lock for all. gRPC takes such locks for every message.
#pragma once

namespace muster {

// Ends the watch for possible deadlocks among absl::Mutex of this process. First thing in main.
void StopWatchingMutexOrder();

}  // namespace muster
