// Starts gRPC's threads, all of them or none, and keeps them until the process ends.
//
// gRPC 1.51 goes on without a thread that it can't create. Without its timer thread, no deadline ever passes. Without
// one of its executors' threads, the work that was given to that thread is never done. And gRPC's shutdown waits for
// the missing threads for ever (timer_manager.cc, executor.cc, thread_pool.cc). gRPC shuts down with its last channel
// or server, and its event engine with its last channel. So one unused channel is kept open.
//
// Later, when it is busy, gRPC makes a few more threads. If it can't make one of these, some work waits longer, and the
// process must not wait for gRPC to shut down: see program.h.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "common/sys/log.h"

namespace muster {

// Must be called before gRPC's first channel or server, while the process has one thread. Returns RESOURCE_EXHAUSTED,
// naming the limit, unless there is room for gRPC's threads and for `others` more: those that the caller or gRPC makes
// next. Returns FAILED_PRECONDITION if /proc can't be read.
absl::Status StartGrpc(size_t others);

// Returns how many more threads a server makes when it starts.
size_t GrpcServerThreads();

// Call it after this process's only server has started. Returns RESOURCE_EXHAUSTED if a thread of that server is
// missing. Blocks until all of its threads have their names, for 1 s at most: it looks for threads by name, because
// gRPC's other threads come and go.
absl::Status CheckServerThreads();

// Protobuf logs messages that are meant for its developers, and a line for each received text that is no UTF-8. So a
// peer could fill the disk with log lines of a program that parses its messages.

// Call once, in main. From then on, protobuf's messages are logged at --log_level debug.
inline void QuietProtobuf() {
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string& text) {
    Log(Severity::kDebug, "protobuf: " + text);
  });
}

}  // namespace muster
