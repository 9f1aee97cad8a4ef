// fork and exec of one process: a training process by its shim, the last-report command by the keeper. The caller has
// one thread and has blocked all signals.
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
  // Closed by a successful exec; readable with the reason after a failed one. Non-blocking.
  UniqueFd launch_report;
};

// The child has: a process group of its own, SIGKILL at the caller's death, default signals, the given affinity, folder
// and environment (its PATH decides where argv[0] is found), stdin from /dev/null unless inherited, no descriptors
// above 2 but the one that is handed over, and the agent's own limit of open files. A text file without a first line
// that names its interpreter runs under /bin/sh, as in a shell; a program that the kernel can't run does not. An error
// knows its step (LaunchErrorOf).
absl::StatusOr<Spawned> SpawnProcess(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const rlimit& open_files);

// Returns the error of a fork that has failed (errno).
absl::Status ForkError();

// Returns what the child reported before it ended; nothing if the exec succeeded or hasn't been tried yet (see
// is_done).
std::optional<LaunchError> ReadLaunchReport(const ProcessSpec& spec, const UniqueFd& launch_report, bool& is_done);

}  // namespace muster::agent
