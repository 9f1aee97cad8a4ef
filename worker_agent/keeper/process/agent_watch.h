// Lets guardian and keeper watch the agent above them: whether it is dead, and with which exit status it ended.
#pragma once

#include <optional>

#include "common/base/exit_status.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class AgentWatch {
 public:
  // Returns a watch of the calling process. Must be called before the fork: later the pid might belong to another
  // process.
  static AgentWatch OfThisProcess();

  // Readable once the agent is dead; -1 on kernels before 5.3.
  int fd() const { return pidfd_.get(); }
  // Returns the second descriptor that this object keeps open.
  int stat_fd() const { return stat_.get(); }
  bool IsDead() const;

  // Returns the agent's exit status, if it can be known. From Linux 6.15 on it always can (PIDFD_GET_INFO). Before that
  // it is in /proc/<pid>/stat only until the agent's parent has reaped it, so call this at the first sign of its death.
  std::optional<ExitStatus> ReadFate() const;

 private:
  UniqueFd pidfd_;
  UniqueFd stat_;  // /proc/<pid>/stat; once the process is reaped, reading fails rather than shows a later process
};

}  // namespace muster::agent
