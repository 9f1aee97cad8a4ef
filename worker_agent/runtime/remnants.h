// What a former start of this node has left running. Its keeper ends everything, but agent and keeper may have been
// killed together (killall -9): then the processes that they started go, too (PR_SET_PDEATHSIG), but not what a shell
// or a launcher among these had started.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::agent {

// SIGKILL to every process of this user in whose environment a variable names something in `folder`, the work folder of
// that start; not to this process nor those above it. Until none is left or `patience` is over. True when none is left:
// as far as environments show, for who changes its own can't be found. Blocks; a moment where there are none.
bool EndRemnants(const std::string& folder, absl::Duration patience);

}  // namespace muster::agent
