// The agent's end of the processes beside the keeper, forked before it, that touch files in its place. They are
// children of the agent, since the keeper ends all its own descendants.
#pragma once

#include <sys/types.h>

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

struct HelperProcess {
  pid_t pid = 0;    // 0: there is none
  UniqueFd socket;  // to it; for the keeper alone: the helper ends when this is closed everywhere
};

// The helpers of one keeper.
struct KeeperHelpers {
  // All signals must be blocked.
  static absl::StatusOr<KeeperHelpers> Fork();

  // In the keeper: stdout and stderr that are files lead to their relays from now on.
  void TakeStandardStreams();
  std::vector<pid_t> pids() const;

  HelperProcess logs;   // writes the logs and
  HelperProcess files;  // touches the error files as the keeper asks (file_helper.h)
  HelperProcess out;    // copies what comes to stdout, if that is a file, and
  HelperProcess err;    // to stderr, if that is another one
};

// Waits for the end of a helper that has no user any more; SIGKILL from `deadline` (CLOCK_BOOTTIME) on. True when
// it is gone: one that hangs in a file system dies only when that answers. `lost_error` becomes the errno with which
// the file of a relay could not take all output.
bool EndHelper(pid_t pid, MonotonicTime deadline, int& lost_error);

}  // namespace muster::agent
