// SIGSTOP to all that a shim's process has started, and SIGCONT to what that has stopped.
#pragma once

#include <sys/types.h>

#include <vector>

#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

class Suspension {
 public:
  // Stops all descendants of the calling shim. False, with errno, when /proc can't be read: then the process's group
  // was stopped, which is nearly all. `group`: the process's; 0: it has ended.
  bool Begin(pid_t group);
  void End(pid_t group);

  // True if nothing is suspended.
  bool is_empty() const { return suspended_.empty() && !is_group_suspended_; }

 private:
  std::vector<ProcessInfo> suspended_;
  bool is_group_suspended_ = false;
};

}  // namespace muster::agent
