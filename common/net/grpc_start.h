// gRPC's threads: made at the start, all of them or none, and kept until the process ends.
//
// gRPC 1.51 ignores it when a thread can't be made. Without its timer thread no deadline ever comes. Without one of the
// executor's threads, the work handed to it is never done. And its shutdown waits for each of them for ever
// (timer_manager.cc, executor.cc, thread_pool.cc). gRPC shuts down with its last channel or server, and its event
// engine with the last channel: so one unused channel is kept.
//
// Later gRPC makes a few more when it is busy. If one of these can't be made, some work waits longer, and nothing may
// wait for gRPC to shut down: see program.h.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "common/sys/log.h"

namespace muster {

// Must come before gRPC's first channel or server, while there is one thread. Returns RESOURCE_EXHAUSTED, naming the
// limit, unless there is room for gRPC's threads and for `others` more, which the caller or gRPC makes next;
// FAILED_PRECONDITION if /proc can't be read.
absl::Status StartGrpc(size_t others);

// Returns how many more threads a server makes when it starts.
size_t GrpcServerThreads();

// Returns RESOURCE_EXHAUSTED if this process's only server, which has started, lacks one of its threads. Looks for them
// by name, as gRPC's other threads come and go. Blocks until they have their names, 1 s at most.
absl::Status CheckServerThreads();

// Protobuf's own messages are for its developers, and it logs a line for each message that is no UTF-8: a peer could
// fill the disk. For programs that parse what others send.

// Call once, in main: from then on protobuf's messages go to --log_level debug.
inline void QuietProtobuf() {
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string& text) {
    Log(Severity::kDebug, "protobuf: " + text);
  });
}

}  // namespace muster
