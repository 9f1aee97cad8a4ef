// The launch agent: what a launcher starts in ssh's place. It lives as long as the remote command, gives it stdin and
// signals, passes on what it writes, and ends with its exit code; 255, as ssh's, where that can't be had.
#pragma once

#include "worker_agent/gateway/exec/program/ssh_words.h"

namespace muster::exec {

// Returns the exit code.
int RunClient(const SshWords& words);

}  // namespace muster::exec
