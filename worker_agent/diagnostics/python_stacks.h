// The stacks of a Python process, in two ways.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

// ---- By the process itself, if it has agreed to it: it catches kStacksSignal and appends them to its MS_STACKS_FILE,
// from within the signal handler (Python's faulthandler), so also while it hangs in native code.
// python/muster_training.py is the other side.

// SIGRTMIN + 5. It would kill a process that doesn't catch it, so only one that does gets it.
inline constexpr int kStacksSignal = 39;

// True if the process may be asked: it catches the signal, and the file is there.
bool HasAgreed(const ProcessInfo& process, const std::string& stacks_file);

// Returns the text that is appended to the file after the signal, once it has stopped growing; at most 1 MiB. Blocks
// until `deadline` at most, or until `cancel_fd` is readable. The error says why there is nothing.
absl::StatusOr<std::string> AskFaulthandler(const ProcessInfo& process, const std::string& stacks_file,
                                            MonotonicTime deadline, int cancel_fd, const Clock& clock);

// ---- By py-spy, where that is installed: a program that reads another process's memory, which needs no consent of the
// process and works wherever that hangs.

// Runs `py-spy dump --nonblocking --pid`, of the first py-spy in the folders of a PATH; relative folders are left out.
// Blocks until `deadline` at most, or until `cancel_fd` is readable. The error says why there is nothing; NOT_FOUND:
// py-spy is not installed. A child process does the search, since a folder of PATH may lie on a file system that hangs.
//
// Nonblocking: without it py-spy holds the process by ptrace while it reads, and a py-spy that is killed at its
// deadline may leave the process stopped for ever; we are to look, not to touch. The price is that a process that moves
// may be seen in the middle of a step, or not at all; one that hangs, which is what is looked for, doesn't move.
absl::StatusOr<std::string> RunPySpy(const std::string& search_path, pid_t pid, MonotonicTime deadline, int cancel_fd,
                                     const Clock& clock);

}  // namespace muster::agent
