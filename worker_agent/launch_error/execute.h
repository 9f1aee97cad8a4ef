// Executes a program as a shell does, and explains why that failed.
#pragma once

#include <string>
#include <vector>

#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {

inline constexpr char kDefaultPath[] = "/bin:/usr/bin";  // where execvp looks if PATH is not set

struct ExecFailure {
  LaunchStep step = LaunchStep::kProgram;  // kProgram or kInterpreter
  int error = 0;                           // errno
  std::string path;                        // the file that failed; empty: no file was found in PATH
};

// Replaces this process by the program that the first word names; looks for it in PATH as execvp does. A text file
// without an interpreter in its first line runs under /bin/sh. A binary that the kernel can't run is an error; execvp
// would give it to /bin/sh, too. Returns only if it fails.
ExecFailure Execute(const std::vector<std::string>& words);

// Explains a failure, for which it reads the file again. `folder`: the working folder of the process that failed;
// empty: this process's.
LaunchError Explain(const ExecFailure& failure, const std::vector<std::string>& words, const std::string& folder);

}  // namespace muster::agent
