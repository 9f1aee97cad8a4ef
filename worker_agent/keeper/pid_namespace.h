// --isolate pid: one pid namespace for all processes of one start of an agent. The keeper is its first process.
//
// When the keeper ends, for any reason, the kernel ends every process in the namespace. This works even if agent,
// guardian and shims are killed at the same instant, and for processes that a shell or launcher in the namespace has
// started. All processes share one namespace, since the ranks of a node must see each other (MPI's cross-memory attach,
// CUDA's IPC). Sources: pid_namespaces(7), user_namespaces(7).
//
//   needs      CAP_SYS_ADMIN or user namespaces, and a /proc of which no part is covered by another mount
//   costs      processes inside see other pids than tools outside do; see docs/recovery.md
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/base/unique_fd.h"

namespace muster::agent {

// Makes the namespace in these steps: the parent calls Begin and forks; then the child calls EndInFirstProcess, and the
// parent calls AwaitFirstProcess, which blocks for 10 s at most.
class PidIsolation {
 public:
  // Makes the next child of this process the first process of a new pid namespace. Without CAP_SYS_ADMIN it also moves
  // this process into a new user namespace, in which its user and group keep their numbers.
  void Begin();
  // Called in the namespace's first process: makes a mount namespace with a /proc of its own. If that fails, ends the
  // process, and the parent finds the reason in why().
  void EndInFirstProcess();
  void AwaitFirstProcess();

  // Returns why the namespace can't be made; empty while no step has failed.
  const std::string& why() const { return why_; }

 private:
  UniqueFd out_, in_;
  std::string why_;
};

// Returns the pid, as this process sees it, of the process that has the pid `inner` inside the namespace. `root` is an
// ancestor of the namespace's first process. 0: there is no such process.
pid_t OuterPidBelow(pid_t root, int64_t inner);

}  // namespace muster::agent
