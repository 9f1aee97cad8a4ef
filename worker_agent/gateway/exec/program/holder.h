// The node's process in a round of --per_job --allow_exec, where the job's command runs on another node: all remote
// commands of this node descend from it, so that the keeper ends them with it, and the round has not ended here before
// they have.
//
// The agent hands it a socket for each command. It ends well when the agent says that the job's command has, once the
// last command has ended or a few seconds later.
#pragma once

namespace muster::exec {

inline constexpr char kHolderVariable[] = "MUSTER_EXEC_FD";
inline constexpr char kCommandLetter = 'c';  // with a descriptor: serve it
inline constexpr char kEndLetter = 'e';      // the job's command has ended well

// Returns the exit code.
int RunHolder(int control);

// One command, in a process of its own: reads the words, runs them with a shell, and stays until all is told. Returns
// when the command has ended, and what it started in the background stays until the round's end; or when whoever asked
// for it has gone, and then nothing of it is left.
void ServeCommand(int socket);

}  // namespace muster::exec
