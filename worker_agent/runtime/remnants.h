// What a former start of this node has left running. Its keeper ends everything, but agent and keeper may have been
// killed together (killall -9): then the processes that they started go, too (PR_SET_PDEATHSIG), but not what a shell
// or a launcher among these had started.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::agent {

struct Remnant {
  pid_t pid = 0;
  uid_t uid = 0;
};

// Looks for every process in whose environment a variable names something in `folder`, the work folder of that start;
// but for this process and those above it. SIGKILL to those of this user; one of another user (the command has changed
// it) is left alone: `folder` is what a file says that others may have written. Until none is left or `patience` is
// over. Who is left: none, as far as environments show that can be read, and who changes its own can't be found.
// Blocks; a moment where there are none.
std::vector<Remnant> EndRemnants(const std::string& folder, absl::Duration patience);

}  // namespace muster::agent
