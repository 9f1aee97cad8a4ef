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

// What the script offers besides the commands; flags with their dashes ("--json").
struct CompletionWords {
  std::vector<std::string> flags;
  std::vector<std::string> certs_commands;
  std::vector<std::string> certs_flags;
};

// A script for `source <(ms-ctl completion bash)`. It completes commands, flags, files, and, where a job is wanted, the
// scheduler's jobs, which it asks `ms-ctl completion jobs` for.
std::string BashCompletion(const CompletionWords& words);

}  // namespace muster::ctl
