// Stacks of a Python process by py-spy, where that is installed: a program that reads another process's memory, which
// needs no consent of the process and works whatever it hangs in.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"

namespace muster::agent {

// `py-spy dump --nonblocking --pid`, of the first py-spy in the folders of a PATH; relative folders are left out.
// Blocks until `deadline` at most, or until `cancel_fd` is readable. The error says why there is nothing; NOT_FOUND:
// py-spy is not installed. What is started searches, for a folder of PATH may lie on a file system that hangs.
//
// Nonblocking: without it py-spy holds the process by ptrace while it reads, and a py-spy that is killed at its
// deadline may leave the process stopped for ever; we are to look, not to touch. The price is that a process that moves
// may be seen in the middle of a step, or not at all; one that hangs, which is what is looked for, doesn't move.
absl::StatusOr<std::string> RunPySpy(const std::string& search_path, pid_t pid, MonotonicTime deadline, int cancel_fd,
                                     const Clock& clock);

}  // namespace muster::agent
