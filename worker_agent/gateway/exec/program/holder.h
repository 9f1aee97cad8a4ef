// The holder: the process that a node starts in a round of --per_job --allow_exec if the job's command runs on another
// node. All remote commands of this node descend from the holder. So the keeper ends them together with it, and the
// round does not end on this node before they have ended.
//
// The agent sends the holder a socket for each command. When the agent reports that the job's command has ended well,
// the holder ends well too: after the last remote command, but at the latest a few seconds later.
#pragma once

namespace muster::exec {

inline constexpr char kHolderVariable[] = "MUSTER_EXEC_FD";
inline constexpr char kCommandLetter = 'c';  // comes with the socket of a new command
inline constexpr char kEndLetter = 'e';      // the job's command has ended well

// Returns the exit code.
int RunHolder(int control);

// Runs one command, in a process of its own: reads the command's words from `socket`, runs them with a shell, and
// passes on input, output and signals. Returns after it has reported the command's end; processes that the command left
// in the background stay until the round's end. If the other end goes away, kills everything that the command started
// and returns.
void ServeCommand(int socket);

}  // namespace muster::exec
