// Stops (SIGSTOP) all that a shim's process has started, and lets the processes that it has stopped go on (SIGCONT).
#pragma once

#include <sys/types.h>

#include <vector>

#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

class Suspension {
 public:
  // Stops all descendants of the calling shim. `group`: the process's group; 0: the process has ended. Returns false,
  // with errno, if /proc can't be read: then it has stopped only the group, which contains nearly all descendants.
  bool Begin(pid_t group);
  void End(pid_t group);

  // True if nothing is suspended.
  bool is_empty() const { return suspended_.empty() && !is_group_suspended_; }

 private:
  std::vector<ProcessInfo> suspended_;
  bool is_group_suspended_ = false;
};

}  // namespace muster::agent
