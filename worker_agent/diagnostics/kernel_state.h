// Reads the state of a process from /proc/<pid>; see proc(5). The process's own user may read it. Linux only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace muster::agent {

// Returns lines for people: the state of the process and of at most 64 of its threads, and the kernel function in which
// each one waits. nullopt: there is no such process.
std::optional<std::string> KernelText(pid_t pid);

// True if the process has a handler for the signal.
bool CatchesSignal(pid_t pid, int signal);

// True if the process's program has the name of a Python interpreter.
bool IsPython(pid_t pid);

// Returns the processes that the main thread of `pid` has started, as /proc/<pid>/task/<pid>/children has them. May
// miss some; empty also if the kernel has no such file.
std::vector<pid_t> ChildrenOf(pid_t pid);

}  // namespace muster::agent
