// How a training process ended: what the keeper finds out, the core decides by, and the scheduler is told
// (v1::ProcessEnded, made of it by Reporter alone).
#pragma once

#include <string>
#include <vector>

#include "common/base/exit_status.h"

namespace muster::agent {

struct ProcessEnd {
  ExitStatus exit;                      // of one that never ran: 127 (not found) or 126
  bool was_stopped = false;             // we had told it to stop before it ended
  std::string error_message;            // "message" of its error file; empty: none
  std::vector<std::string> last_lines;  // stdout and stderr as they came
  std::string launch_error;             // why it never ran; empty: it did
  std::string log_file = {};            // where all its output is; empty: nowhere

  bool IsSuccess() const { return exit.IsSuccess() && launch_error.empty(); }
};

}  // namespace muster::agent
