// Forks and executes one process: a shim starts its training process in this way, and the keeper the last-report
// command. The caller must have one thread and must have blocked all signals.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {

struct Spawned {
  pid_t pid = 0;
  // The read end of a pipe, non-blocking. If the exec succeeds, the pipe is closed without data. If it fails, the pipe
  // contains the reason.
  UniqueFd launch_report;
};

// Starts the process with: a process group of its own, SIGKILL at the caller's death, default signals, the given
// affinity, folder and environment (its PATH decides where argv[0] is found), stdin from /dev/null unless inherited, no
// descriptors above 2 except the one that is handed over, and the agent's own limit of open files. A text file without
// a first line that names its interpreter runs under /bin/sh, as in a shell; any other file that the kernel can't
// execute is an error. LaunchErrorOf returns the step at which an error happened.
absl::StatusOr<Spawned> SpawnProcess(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const rlimit& open_files);

// Returns the error for a fork that has just failed; reads errno.
absl::Status ForkError();

// Returns the error that the child reported. Nothing: the exec succeeded, or (`is_done` is false) it has not been tried
// yet, and the caller must read again later.
std::optional<LaunchError> ReadLaunchReport(const ProcessSpec& spec, const UniqueFd& launch_report, bool& is_done);

}  // namespace muster::agent
