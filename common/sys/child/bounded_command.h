// Running a small program with a bound on everything: its time, its output, what is left of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/clock.h"

namespace muster {

struct BoundedCommand {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  size_t max_output_bytes = 0;    // the rest is read and dropped
  MonotonicTime deadline;         // then it is killed
  int cancel_fd = -1;             // readable: it is killed at once
};

struct CommandResult {
  enum class End { kExited, kSignaled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kNotStarted;
  int code = 0;  // exit code, signal or errno
  std::string output;
  std::string errors;  // its stderr; as bounded
};

// Blocks, no longer than to the deadline and half a second. It runs as StartChild has it; nothing of its group is left,
// not even a zombie, when this returns (except what hangs in the kernel and can't be killed).
CommandResult RunBounded(const BoundedCommand& command, const Clock& clock);

}  // namespace muster
