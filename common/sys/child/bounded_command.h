// Runs a small program with bounds on everything: its time, its output, its leftover processes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/clock.h"

namespace muster {

struct BoundedCommand {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  size_t max_output_bytes = 0;    // bytes beyond are read and dropped
  MonotonicTime deadline;         // after it the program is killed
  int cancel_fd = -1;             // when readable, the program is killed at once
};

struct CommandResult {
  enum class End { kExited, kSignaled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kNotStarted;
  int code = 0;  // exit code, signal or errno
  std::string output;
  std::string errors;  // its stderr; bounded in the same way
};

// Runs the command as StartChild does. Blocks until half a second after the deadline at most. When this returns nothing
// of its process group is left, not even a zombie (except processes that hang in the kernel and can't be killed).
CommandResult RunBounded(const BoundedCommand& command, const Clock& clock);

}  // namespace muster
