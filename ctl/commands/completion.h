// The bash completion of ms-ctl, ms-worker and ms-scheduler.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

// The words that the script offers; flags with their dashes ("--json").
struct CompletionWords {
  std::vector<std::string> commands;
  std::vector<std::string> flags;
  std::vector<std::string> certs_commands;
  std::vector<std::string> certs_flags;
  std::vector<std::string> job_commands;  // those of `commands` that a job's name may follow
  std::vector<std::string> worker;        // settings of ms-worker: --switch, --flag=, --flag=file|host|one|two
  std::vector<std::string> scheduler;     // of ms-scheduler
};

// Returns a script for `source <(ms-ctl completion bash)`. It completes commands, flags, files, and, for a job, the
// scheduler's jobs, which it gets from `ms-ctl completion jobs`.
std::string BashCompletion(const CompletionWords& words);

}  // namespace muster::ctl
