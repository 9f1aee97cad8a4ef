// The first steps of a child of the agent that isn't to run another program.
#pragma once

#include <string_view>
#include <vector>

namespace muster::agent {

// Gives the process its own session, the name `name` for ps (at most 15 bytes) and standard streams, and closes all
// other descriptors of the agent's except `kept` (-1: none).
void BecomeOwnProcess(const char* name, std::vector<int> kept);

// Puts /dev/null in the place of the standard streams: this process must not make others wait for the end of a pipe, or
// hold a terminal.
void LeaveStandardStreams();

// Makes this process a child subreaper: a process below it that loses its parent becomes its child, and waits for it to
// reap.
void AdoptOrphans();

// Sets the command line that ps shows for this process. Overwrites the arguments that the process was started with, cut
// to their room: a keeper that showed the agent's own command line would fall to every `pkill -f train.py`. Nothing may
// read argv after this.
void SetProcessTitle(std::string_view title);

}  // namespace muster::agent
