// The bash completion of ms-ctl.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

// What `ms-ctl` can be asked, in the order of --help.
struct Command {
  std::string name;
  std::string argument;  // "[JOB]"; empty: none
  std::string help;
};
const std::vector<Command>& Commands();

// A script for `source <(ms-ctl completion bash)`. It completes commands, `flags` ("--json", …), and, where a job is
// wanted, the scheduler's jobs, which it asks `ms-ctl completion jobs` for.
std::string BashCompletion(const std::vector<std::string>& flags);

}  // namespace muster::ctl
