// gRPC's threads: made at the start, all of them or none, and kept until the process ends.
//
// gRPC 1.51 takes no notice of a thread that it can't make. Without its timer thread no deadline ever comes; without
// one of the executor's, work that was handed to it is never done; and its shutdown waits for each of them for ever
// (timer_manager.cc, executor.cc, thread_pool.cc). gRPC shuts down with its last channel or server, and its event
// engine with the last channel: so one channel that nobody uses is kept.
//
// Later gRPC makes a few more when it is busy. If one of these can't be made some work waits longer, and nothing may
// wait for gRPC to shut down: see program.h.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "common/sys/log.h"

namespace muster {

// Before gRPC's first channel or server. RESOURCE_EXHAUSTED, naming the limit, if there are no threads for gRPC and
// `others` beside: what the caller makes next, of its own or of gRPC's. FAILED_PRECONDITION if /proc can't be read.
// While there is one thread.
absl::Status StartGrpc(size_t others);

// How many threads a server makes when it starts, beside those.
size_t GrpcServerThreads();

// RESOURCE_EXHAUSTED if the only server of this process, which has started, lacks one of them. By name: others of
// gRPC's threads come and go. Blocks until they have their names, 1 s at most.
absl::Status CheckServerThreads();

// Protobuf's own words are for its developers, and it writes a line for each message that is no UTF-8: a peer could
// fill the disk. In programs that parse what others send.

// Once, in main: what protobuf says is for --log_level debug from now on.
inline void QuietProtobuf() {
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string& text) {
    Log(Severity::kDebug, "protobuf: " + text);
  });
}

}  // namespace muster
