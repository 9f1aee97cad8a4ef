// Starts programs and waits for them. (Training processes, and the processes that watch over them, are the keeper's.)
//
// For any thread, as long as no other code waits for children that it didn't start.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/exit_status.h"
#include "common/base/unique_fd.h"

namespace muster {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  // The child's standard streams; -1: /dev/null.
  int in = -1;
  int out = -1;
  int err = -1;
  int third = -1;  // the child's descriptor 3; -1: none
};

// Starts the program in a process group of its own, with default signals and no other descriptor of ours. Returns
// errno, or 0 if it runs.
int StartChild(const ChildOptions& options, pid_t& pid);

enum class ChildState {
  kRuns,
  kEnded,    // but not reaped: its number, and its group's, stay its own
  kUnknown,  // already reaped by other code: its number may be another process's by now
};
// Waits until the child has ended, at most `patience`.
ChildState AwaitChild(pid_t pid, absl::Duration patience = absl::ZeroDuration());

// Waits until the child has ended, for any length of time. nullopt if other code has reaped it.
std::optional<ExitStatus> ReapChild(pid_t pid);

// Returns a descriptor that polls readable once the child has ended. Not open: the kernel has no such descriptors, or
// none is left.
UniqueFd WatchChild(pid_t pid);

// Returns the pointers that exec takes; they point into `texts`.
std::vector<char*> ExecPointers(const std::vector<std::string>& texts);

}  // namespace muster
