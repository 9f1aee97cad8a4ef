// The view that guardian and keeper have of the agent above them: whether it is dead, and what it died of.
#pragma once

#include <optional>

#include "common/base/exit_status.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class AgentWatch {
 public:
  // Returns a watch of the calling process; to be called before the fork, so that the pid can't have changed hands.
  static AgentWatch OfThisProcess();

  // Readable once the agent is dead; -1 on kernels before 5.3.
  int fd() const { return pidfd_.get(); }
  // The other descriptor that this holds.
  int stat_fd() const { return stat_.get(); }
  bool IsDead() const;

  // Returns the agent's exit status, if it can be known: from Linux 6.15 on always (PIDFD_GET_INFO), before that only
  // while its parent hasn't reaped it (/proc/<pid>/stat): so ask at the first sign of its death.
  std::optional<ExitStatus> ReadFate() const;

 private:
  UniqueFd pidfd_;
  UniqueFd stat_;  // /proc/<pid>/stat; reading fails once the process is reaped, so a later process is never mistaken
};

}  // namespace muster::agent
