// fork and exec of one process: a training process by its shim, the farewell by the keeper. The caller has one thread
// and has blocked all signals.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "worker_agent/keeper/processes.h"

namespace muster::agent {

struct Spawned {
  pid_t pid = 0;
  // Closed by a successful exec; readable with the reason after a failed one. Non-blocking.
  UniqueFd launch_report;
};

struct LaunchFailure {
  int exit_code = 0;  // 127: not found, 126: anything else
  std::string text;
};

// The child has: a process group of its own, SIGKILL at the caller's death, default signals, the given affinity, folder
// and environment (its PATH decides where argv[0] is found), stdin from /dev/null unless inherited, no descriptors
// above 2 but the one that is handed over, and the agent's own limit of open files.
absl::StatusOr<Spawned> SpawnProcess(const ProcessSpec& spec, int stdout_fd, int stderr_fd, const rlimit& open_files);

// What to say of a fork that has failed (errno).
absl::Status ForkError();

// What the child reported before it ended; nothing if the exec succeeded or hasn't been tried yet (see is_done).
std::optional<LaunchFailure> ReadLaunchReport(const ProcessSpec& spec, const UniqueFd& launch_report, bool& is_done);

}  // namespace muster::agent
