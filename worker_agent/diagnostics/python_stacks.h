// Gets the stacks of a Python process in two ways: from the process itself, or by py-spy.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

// ---- From the process itself, if its script has called muster_training.enable_stacks() (python/muster_training.py).
// On kStacksSignal it then appends its stacks to its MS_STACKS_FILE. Python's faulthandler does so in the signal
// handler, so it works even while the process hangs in native code.

// SIGRTMIN + 5. It kills a process that doesn't catch it, so it must only be sent if HasAgreed is true.
inline constexpr int kStacksSignal = 39;

// True if the process may be sent kStacksSignal: it catches the signal and has the file open.
bool HasAgreed(const ProcessInfo& process, const std::string& stacks_file);

// Sends the signal and returns the text that the process then appends to the file, at most 1 MiB. Blocks until the file
// has stopped growing, or until `deadline`. The error says why there is no text; CANCELLED: `cancel_fd` was readable.
absl::StatusOr<std::string> AskFaulthandler(const ProcessInfo& process, const std::string& stacks_file,
                                            MonotonicTime deadline, int cancel_fd, const Clock& clock);

// ---- By py-spy, if it is installed. This program reads another process's memory. The process need not cooperate, and
// may hang anywhere.

// Runs `py-spy dump --nonblocking --pid` and returns its output. Takes the first py-spy in the absolute folders of
// `search_path`, a PATH; a child process does the search, since a folder may lie on a file system that hangs. Blocks
// until `deadline` at most, or until `cancel_fd` is readable. The error says why there is no output; NOT_FOUND: py-spy
// is not installed.
//
// Without --nonblocking, py-spy stops the process by ptrace while it reads, and if it is killed at its deadline, the
// process may stay stopped for ever. With it, the stacks of a process that runs meanwhile may be wrong or missing. That
// matters little, since a process that hangs, for which people call this, doesn't run.
absl::StatusOr<std::string> RunPySpy(const std::string& search_path, pid_t pid, MonotonicTime deadline, int cancel_fd,
                                     const Clock& clock);

}  // namespace muster::agent
