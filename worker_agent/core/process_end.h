// The end of a training process: the keeper finds it, the core decides by it, and the agent reports it to the scheduler
// (as v1::ProcessEnded, which only Reporter makes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/exit_status.h"
#include "common/causes/exceptions.h"

namespace muster::agent {

// The kernel killed it, or a process that it had started, because memory ran out.
struct MemoryEnd {
  bool was_short = false;
  uint64_t limit_bytes = 0;  // 0: no limit but the machine's memory
  uint64_t peak_bytes = 0;   // 0: not known
};

struct ProcessEnd {
  ExitStatus exit;                      // that of a process that never ran: 127 (not found) or 126
  bool was_stopped = false;             // we had asked it to stop before it ended
  std::string error_message;            // "message" of its error file; empty: none
  std::vector<std::string> last_lines;  // stdout and stderr as they came
  std::string launch_error;             // why it never ran; empty: it did
  MemoryEnd memory = {};
  std::string log_file = {};       // where all its output is; empty: nowhere
  std::string launch_reason = {};  // launch_error in one word (common/base/reason.h)
  std::string launch_remedy = {};  // what to do; {host}: the name of this machine
  RaisedException exception = {};  // in the end of its output, as CutException leaves it; empty: none

  // True if its own last message matters.
  bool HasFailedByItself() const { return !IsSuccess() && !was_stopped && launch_error.empty(); }
  bool IsSuccess() const { return exit.IsSuccess() && launch_error.empty(); }
};

}  // namespace muster::agent
