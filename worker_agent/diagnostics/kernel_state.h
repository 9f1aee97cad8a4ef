// The state of a process that the kernel shows to its user: /proc/<pid>/… . Linux; see proc(5).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace muster::agent {

// Returns state and wait channel of the process and of its threads, the first 64 of them; several lines. Nothing when
// there is no such process.
std::optional<std::string> KernelText(pid_t pid);

// True if the process has a handler for the signal.
bool CatchesSignal(pid_t pid, int signal);

// True if its program is a Python interpreter, by its name.
bool IsPython(pid_t pid);

}  // namespace muster::agent
