// The end of a training process. The keeper observes it, the core decides by it, and the agent reports it to the
// scheduler (as v1::ProcessEnded, which only Reporter makes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/exit_status.h"
#include "common/causes/exceptions.h"

namespace muster::agent {

// Says whether the kernel killed the process, or one that it had started, because memory ran out.
struct MemoryEnd {
  bool was_short = false;
  uint64_t limit_bytes = 0;  // 0: no limit except the machine's memory
  uint64_t peak_bytes = 0;   // 0: not known
};

// The log of its device (keeper/files/device_log.h) comes before the output in last_lines. Its first line begins with
// this text.
inline constexpr char kDeviceLogLine[] = "device log ";

struct ProcessEnd {
  ExitStatus exit;                      // if the process never ran: 127 (not found) or 126
  bool was_stopped = false;             // we had asked it to stop before it ended
  std::string error_message;            // "message" of its error file; empty: none
  std::vector<std::string> last_lines;  // of stdout and stderr, in the order in which they came
  std::string launch_error;             // why it never ran; empty: it did
  MemoryEnd memory = {};
  std::string log_file = {};                   // the file with all its output; empty: there is none
  std::string launch_reason = {};              // launch_error in one word (common/base/reason.h)
  std::string launch_remedy = {};              // what to do; {host}: the name of this machine
  RaisedException exception = {};              // found near the end of its output, cut by CutException; empty: none
  std::string failing_line = {};               // the line of its output that a rule of --fail_on matched; empty: none
  std::vector<std::string> kernel_lines = {};  // about faults of its devices (devices/kernel_log.h)

  // Returns true if the process failed by itself, so that its last messages explain the failure.
  bool HasFailedByItself() const { return !IsSuccess() && !was_stopped && launch_error.empty(); }
  bool IsSuccess() const { return exit.IsSuccess() && launch_error.empty(); }
};

}  // namespace muster::agent
