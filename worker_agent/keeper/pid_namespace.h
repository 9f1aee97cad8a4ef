// --isolate pid: one pid namespace for all processes of a start of an agent, whose first process is the keeper. When
// the keeper ends, however it does, the kernel ends every process in it: also if agent, guardian and shims are killed
// in the same instant, and whatever a shell or launcher among the processes had started. One for the whole start, since
// ranks of a node have to see each other (MPI's cross-memory attach, CUDA's IPC). Sources: pid_namespaces(7),
// user_namespaces(7).
//
//   needs      CAP_SYS_ADMIN, or user namespaces; and a /proc of which nothing is covered, as the kernel demands it
//   costs      what runs inside sees other pids than tools outside; see docs/recovery.md
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"

namespace muster::agent {

// Whether it can be done here, found by doing it in a child that ends at once. The error says what stands against it.
absl::Status TryPidNamespace();

// By the guardian, before it forks the keeper: its next child is the first process of a new pid namespace. Without
// CAP_SYS_ADMIN it is in a user namespace of its own from then on, in which its user and group are themselves.
absl::Status UnsharePids();

// By the keeper, as that first process: a mount namespace with a /proc of its own.
absl::Status MountOwnProc();

// The pid by which this process sees the one that is `inner` to `root`'s descendants in a namespace; 0: there is none.
pid_t OuterPidBelow(pid_t root, int64_t inner);

}  // namespace muster::agent
