// The first steps of a forked child of the agent that does not run another program: guardian, keeper, shim, helper.
#pragma once

#include <string_view>
#include <vector>

namespace muster::agent {

// Gives the process a session of its own and the name `name` for ps (at most 15 bytes), and opens standard streams that
// are missing. Closes all other descriptors except `kept` (-1: none).
void BecomeOwnProcess(const char* name, std::vector<int> kept);

// Replaces the standard streams by /dev/null. Otherwise a reader of the agent's output would wait for the end of this
// process, too, and the process would keep a terminal open.
void LeaveStandardStreams();

// Makes this process a child subreaper: when a process below it loses its parent, this process becomes the new parent
// and must reap it.
void AdoptOrphans();

// Sets the command line that ps shows for this process. With the agent's own command line, each `pkill -f train.py`
// would kill the keeper, too. Overwrites the arguments with which the process was started, and cuts the title to their
// length. Nothing may read argv after this.
void SetProcessTitle(std::string_view title);

}  // namespace muster::agent
