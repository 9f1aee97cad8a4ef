// What a child of the agent that isn't to run another program does first.
#pragma once

#include <string_view>
#include <vector>

namespace muster::agent {

// Own session, known to ps as `name` (at most 15 bytes), the standard streams in place, and nothing else of the agent's
// open but `kept` (-1: none).
void BecomeOwnProcess(const char* name, std::vector<int> kept);

// /dev/null in the place of the standard streams: nobody shall wait for the end of a pipe, or sit on a terminal,
// because of this process.
void LeaveStandardStreams();

// Whatever loses its parent below this process becomes its child, and waits for it to reap.
void AdoptOrphans();

// What ps shows as this process's command line. Overwrites the arguments that the process was started with, cut to
// their room: a keeper that showed the agent's own command line would fall to every `pkill -f train.py`. Nobody may
// read argv after this.
void SetProcessTitle(std::string_view title);

}  // namespace muster::agent
