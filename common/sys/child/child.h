// Programs that are run and waited for. (Training processes, and what watches over them, are the keeper's.)
//
// For any thread, as long as nobody else waits for children that he didn't start.
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
  // What becomes its standard streams; -1: /dev/null.
  int in = -1;
  int out = -1;
  int err = -1;
  int third = -1;  // what becomes its descriptor 3; -1: none
};

// Starts it in a process group of its own, with default signals and no other descriptor of ours. errno; 0: it runs.
int StartChild(const ChildOptions& options, pid_t& pid);

enum class ChildState {
  kRuns,
  kEnded,    // but not reaped: its number, and its group's, stay its own
  kUnknown,  // somebody else has reaped it: its number may be another's by now
};
// Waits until it has ended, at most `patience`.
ChildState AwaitChild(pid_t pid, absl::Duration patience = absl::ZeroDuration());

// Waits until it has ended, however long that takes. Nothing where somebody else has reaped it.
std::optional<ExitStatus> ReapChild(pid_t pid);

// Polls readable once it has ended; not open: the kernel has no such descriptors, or none is left.
UniqueFd WatchChild(pid_t pid);

// As exec takes them; they point into `texts`.
std::vector<char*> ExecPointers(const std::vector<std::string>& texts);

}  // namespace muster
