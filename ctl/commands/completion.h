// The bash completion for ms-ctl, ms-worker and ms-scheduler.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

// The words that the script offers. Flags have their dashes ("--json").
struct CompletionWords {
  std::vector<std::string> commands;
  std::vector<std::string> flags;
  std::vector<std::string> certs_commands;
  std::vector<std::string> certs_flags;
  std::vector<std::string> job_commands;  // the commands after which a job's name may come
  std::vector<std::string>
      worker;  // settings of ms-worker: --switch, --flag=, --flag=file, --flag=host, --flag=one|two
  std::vector<std::string> scheduler;  // settings of ms-scheduler, in the same form
};

// Returns the script for `source <(ms-ctl completion bash)`. It completes commands, flags, files and names of jobs. It
// gets the jobs of the scheduler from `ms-ctl completion jobs`.
std::string BashCompletion(const CompletionWords& words);

}  // namespace muster::ctl
