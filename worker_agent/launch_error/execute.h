// exec as a shell does it, and the reason why it failed.
#pragma once

#include <string>
#include <vector>

#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {

struct ExecFailure {
  LaunchStep step = LaunchStep::kProgram;  // or kInterpreter
  int error = 0;                           // errno
  std::string path;                        // of the file; empty: it was not found in PATH
};

// Becomes the program that the first word names, found by this process's PATH as execvp finds it. A text file without a
// first line that names its interpreter runs under /bin/sh; a program that the kernel can't run does not (execvp gives
// that to /bin/sh, too). Returns only if it fails.
ExecFailure Execute(const std::vector<std::string>& words);

// Explains a failure; looks at the file again. `folder`: where the failure was; empty: this process's.
LaunchError Explain(const ExecFailure& failure, const std::vector<std::string>& words, const std::string& folder);

}  // namespace muster::agent
