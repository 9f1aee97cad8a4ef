// The agent's end of the helpers: processes that access files in the keeper's place (file_helper.h). The agent forks
// them before the keeper. They are the agent's children, because the keeper kills all its own descendants.
#pragma once

#include <sys/types.h>

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

struct HelperProcess {
  pid_t pid = 0;    // 0: there is none
  UniqueFd socket;  // to the helper, which ends when all copies of this are closed; only the keeper may keep one
};

// The helpers of one keeper.
struct KeeperHelpers {
  // All signals must be blocked.
  static absl::StatusOr<KeeperHelpers> Fork();

  // Called in the keeper: where stdout or stderr is a file, makes it lead to the helper that copies output to this
  // file.
  void TakeStandardStreams();
  std::vector<pid_t> pids() const;

  HelperProcess logs;   // writes the logs
  HelperProcess files;  // reads and removes the error files (file_helper.h)
  HelperProcess out;    // copies output to stdout, if that is a file
  HelperProcess err;    // copies output to stderr, if that is a file other than stdout
};

// Waits until a helper that is not used any more has ended, and sends it SIGKILL at `deadline` (CLOCK_BOOTTIME).
// Returns true when it is gone; a helper that hangs in a file system dies only when that answers. If the helper lost
// output because it could not write to its file, sets `lost_error` to the errno of the failed write.
bool EndHelper(pid_t pid, MonotonicTime deadline, int& lost_error);

}  // namespace muster::agent
