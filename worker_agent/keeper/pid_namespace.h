// --isolate pid: one pid namespace for all processes of a start of an agent. Its first process is the keeper. When the
// keeper ends, for any reason, the kernel ends every process in it: also if agent, guardian and shims are killed in the
// same instant, and also what a shell or launcher among the processes had started. There is one for the whole start,
// since ranks of a node have to see each other (MPI's cross-memory attach, CUDA's IPC). Sources: pid_namespaces(7),
// user_namespaces(7).
//
//   needs      CAP_SYS_ADMIN, or user namespaces; and a /proc of which nothing is covered, as the kernel demands it
//   costs      what runs inside sees other pids than tools outside; see docs/recovery.md
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/base/unique_fd.h"

namespace muster::agent {

// The two steps, by two processes: Begin, then fork, then EndInFirstProcess in the child and AwaitFirstProcess in the
// parent. Blocks for a moment.
class PidIsolation {
 public:
  // The next child of this process is the first one of a new pid namespace. Without CAP_SYS_ADMIN this process is in a
  // user namespace of its own from then on, in which its user and group are themselves.
  void Begin();
  // Called in that first process: makes a mount namespace with a /proc of its own. Ends the process if it can't.
  void EndInFirstProcess();
  void AwaitFirstProcess();

  // The reason why there can be no namespace; empty: nothing has stood against it so far.
  const std::string& why() const { return why_; }

 private:
  UniqueFd out_, in_;
  std::string why_;
};

// The pid by which this process sees the one that is `inner` to `root`'s descendants in a namespace; 0: there is none.
pid_t OuterPidBelow(pid_t root, int64_t inner);

}  // namespace muster::agent
