// Asks a Python process that has agreed to it for its stacks: the process catches kStacksSignal and appends them to its
// MS_STACKS_FILE, from within the signal handler (Python's faulthandler), so also while it hangs in native code.
//
// python/muster_training.py is the other side.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

// SIGRTMIN + 5. It would kill a process that doesn't catch it, so only one that does gets it.
inline constexpr int kStacksSignal = 39;

// Whether the process may be asked: it catches the signal, and the file is there.
bool HasAgreed(const ProcessInfo& process, const std::string& stacks_file);

// What is appended to the file after the signal, once it has stopped growing; at most 1 MiB. Blocks
// until `deadline` at most, or until `cancel_fd` is readable. The error says why there is nothing.
absl::StatusOr<std::string> AskFaulthandler(const ProcessInfo& process, const std::string& stacks_file,
                                            MonotonicTime deadline, int cancel_fd, const Clock& clock);

}  // namespace muster::agent
