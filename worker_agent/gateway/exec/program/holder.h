// The node's process in a round of --per_job --allow_exec, where the job's command runs on another node. All remote
// commands of this node descend from it. So the keeper ends them with it, and the round does not end here before they
// do.
//
// The agent hands it a socket for each command. After the agent's report that the job's command has ended well, it ends
// well too: once the last command has ended, or a few seconds later.
#pragma once

namespace muster::exec {

inline constexpr char kHolderVariable[] = "MUSTER_EXEC_FD";
inline constexpr char kCommandLetter = 'c';  // with a descriptor: serve it
inline constexpr char kEndLetter = 'e';      // the job's command has ended well

// Returns the exit code.
int RunHolder(int control);

// Runs one command, in a process of its own: reads the words, runs them with a shell, and stays until all is reported.
// Returns when the command has ended; what it started in the background stays until the round's end. Also returns when
// the other end has gone, after killing everything that the command started.
void ServeCommand(int socket);

}  // namespace muster::exec
