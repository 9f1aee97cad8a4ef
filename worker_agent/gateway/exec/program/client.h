// The launch agent: what a launcher starts in ssh's place. It lives as long as the remote command, gives it stdin and
// signals, passes on what it writes, and ends with its exit code; 255, as ssh's, where that can't be had.
#pragma once

#include "worker_agent/gateway/exec/program/ssh_words.h"

namespace muster::exec {

// Returns the exit code. `next` is what becomes of this process where the host is none of the round: the arguments, the
// program's own name in front, of the next ssh in PATH; null: it fails.
int RunClient(const SshWords& words, char* const* next);

}  // namespace muster::exec
