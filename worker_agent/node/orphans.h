// The processes that a former start of this node has left. Its keeper ends everything, but all four helper processes
// (agent, guardian, keeper, shims) may have been killed together (pkill -9 ms-): then the processes that they started
// end, too (PR_SET_PDEATHSIG), but not those that a shell or a launcher among these had started.
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
  std::string why;  // why it still runs, for people
};

struct Orphans {
  std::vector<Orphan> left;     // they are of the former start
  std::vector<Orphan> unclear;  // they may be
  std::string blind;            // why nothing is known of the others; empty: all were looked at

  bool are_none() const { return left.empty() && unclear.empty() && blind.empty(); }
};

// The signs by which the processes of a former start are known.
struct StartSigns {
  std::optional<ProcessMark> mark;
  std::string secret;       // the value of its kStartVariable (launch/environment/environment.h)
  uint64_t not_before = 0;  // they have started then or later, as in /proc/<pid>/stat; 0: not known
};

// Looks for every process with the former start's mark, and for those whose limit a privileged process has reset but
// whose environment still has its secret. This process and those above it are left out. Kills those of this user; one
// of another user (the command has changed it) is left alone, for root, too: the lock's file may be forged. Ends when
// two looks in a row have found none, or `patience` is over.
//
// Blind without a mark, without a /proc of this pid namespace, and where /proc hides other users' processes.
//
// Blocks; a moment where there are none. To be called while this is the only thread: see proc_view.h.
Orphans EndOrphans(const StartSigns& former, absl::Duration patience);

}  // namespace muster::agent
