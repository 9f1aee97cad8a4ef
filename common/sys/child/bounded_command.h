// Runs a small program with bounds on its time, its output, and the processes that it leaves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/clock.h"

namespace muster {

struct BoundedCommand {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  size_t max_output_bytes = 0;    // output beyond this is read and dropped
  MonotonicTime deadline;         // the program is killed at this time
  int cancel_fd = -1;             // when readable, the program is killed at once
  bool keeps_end = false;         // of longer output, the end is kept, not the beginning
  bool joins_errors = false;      // the program's stderr goes to `output`, too
};

struct CommandResult {
  enum class End { kExited, kSignaled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kNotStarted;
  int code = 0;  // exit code, signal or errno, depending on `end`
  std::string output;
  std::string errors;  // the program's stderr; bounded in the same way; empty with joins_errors
};

// Runs the command as StartChild does. Blocks at most until half a second after the deadline. When it returns, nothing
// of the program's process group is left, not even a zombie. (Processes that hang in the kernel are an exception: they
// can't be killed.)
CommandResult RunBounded(const BoundedCommand& command, const Clock& clock);

}  // namespace muster
