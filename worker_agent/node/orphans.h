// Finds and ends the processes that a former start of this node has left. Normally its keeper ends them all. But if
// agent, guardian, keeper and shims are killed together (pkill -9 ms-), the kernel ends only the processes that the
// shims started (PR_SET_PDEATHSIG). Processes that these had started, such as those of a shell or launcher, go on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "worker_agent/keeper/process_mark.h"

namespace muster::agent {

struct Orphan {
  pid_t pid = 0;
  std::string why;  // for people: how it was recognised, and whether it was killed
};

struct Orphans {
  std::vector<Orphan> left;     // processes of the former start
  std::vector<Orphan> unclear;  // processes that may be of the former start
  std::string blind;            // why not all processes could be checked; empty: all were

  bool are_none() const { return left.empty() && unclear.empty() && blind.empty(); }
};

// The signs by which processes of a former start are recognised.
struct StartSigns {
  std::optional<ProcessMark> mark;
  std::string secret;       // the value of its kStartVariable (launch/environment/environment.h)
  uint64_t not_before = 0;  // the processes started then or later, as in /proc/<pid>/stat; 0: not known
};

// Searches for processes of the former start, and kills those that run as this user. It recognises a process by the
// mark, or, if a privileged process has reset the mark (the limit RLIMIT_RTTIME), by the secret in its environment. It
// skips this process and its ancestors. It does not kill a process of another user, not even as root, since the lock's
// file with the signs may be forged. It stops when two searches in a row have found nothing, or when `patience` is
// over.
//
// `blind` of the result is set if the former start had no mark, if /proc is not this pid namespace's, or if /proc hides
// other users' processes.
//
// Blocks, though only for a moment if there are no orphans. Call it while this is the only thread: it forks
// (proc_view.h).
Orphans EndOrphans(const StartSigns& former, absl::Duration patience);

}  // namespace muster::agent
