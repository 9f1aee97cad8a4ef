// What a former start of this node has left running. Its keeper ends everything, but agent and keeper may have been
// killed together (killall -9): then the processes that they started go, too (PR_SET_PDEATHSIG), but not what a shell
// or a launcher among these had started.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::agent {

struct Orphan {
  pid_t pid = 0;
  std::string why;  // why it still stands there, for people
};

struct Orphans {
  std::vector<Orphan> left;     // they are of the former start
  std::vector<Orphan> unclear;  // they may be
  std::string blind;            // why nobody can tell about the others; empty: all were looked at

  bool are_none() const { return left.empty() && unclear.empty() && blind.empty(); }
};

// Looks for every process that carries `secret` as its kStartVariable (launch/environment/environment.h), but for this
// process and those above it. SIGKILL to those of this user; one of another user (the command has changed it) is left
// alone. Until two looks in a row have found none or `patience` is over. None, as far as environments show: who changes
// its own can't be found.
//
// A process that is older than the former start (`start_time`, as in /proc/<pid>/stat) is not its. One whose
// environment this user may not read, or that hangs when it is read, is unclear if it may be the former start's: of
// this user (for root: of any), and an orphan, or a child of such a one. Without /proc all is unclear.
//
// Blocks; a moment where there are none. While this is the only thread: see environ_search.h.
Orphans EndOrphans(const std::string& secret, uint64_t start_time, absl::Duration patience);

}  // namespace muster::agent
