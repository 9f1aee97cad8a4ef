// Starts programs and waits for them. (The keeper starts the training processes and the processes that watch them.)
//
// For any thread, as long as no other code in this process waits for children that it didn't start.
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
  int third = -1;  // becomes the child's descriptor 3; -1: none
};

// Starts the program in its own process group, with default signals. It inherits no other descriptors of ours. Returns
// 0 if the program runs, else errno.
int StartChild(const ChildOptions& options, pid_t& pid);

enum class ChildState {
  kRuns,
  kEnded,    // has ended and is not reaped: no other process can get its number, or its group's
  kUnknown,  // other code has reaped it: another process may have its number now
};
// Waits until the child has ended, for at most `patience`.
ChildState AwaitChild(pid_t pid, absl::Duration patience = absl::ZeroDuration());

// Waits without limit until the child has ended, and reaps it. nullopt if other code has already reaped it.
std::optional<ExitStatus> ReapChild(pid_t pid);

// Returns a descriptor that becomes readable when the child ends. It is not open if the kernel has no such descriptors,
// or if none is left.
UniqueFd WatchChild(pid_t pid);

// Returns the array of pointers for exec; they point into `texts`.
std::vector<char*> ExecPointers(const std::vector<std::string>& texts);

}  // namespace muster
