// Collects the stacks of training processes, for `ms-ctl stacks` and for hangs. It works in threads of its own, so
// the agent's loop never waits for it.
//
// For each process it uses the first of these methods that works:
//   py-spy        needs py-spy in PATH;
//   faulthandler  needs a script that has called muster_training.enable_stacks();
//   kernel        no stacks, only each thread's state and wait channel from /proc.
// An answer always comes within 8 s. Before it looks at a process, the gatherer checks that this is still `parent`'s
// child or grandchild. It sends a process no signal other than kStacksSignal, and that only if the process catches it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

struct StackGathererOptions {
  std::string search_path;  // the PATH to find py-spy in, and for py-spy itself; relative folders are ignored
  pid_t parent = 0;         // the keeper: its children are shims, and their children the training processes
  absl::Duration py_spy_timeout = absl::Seconds(4);
  absl::Duration signal_timeout = absl::Seconds(2);
  absl::Duration total_timeout = absl::Seconds(7);
};

struct StackTarget {
  uint32_t slot = 0;
  pid_t pid = 0;            // 0: no process runs
  std::string stacks_file;  // its MS_STACKS_FILE
};

// All methods must be called by one thread. If a file system hangs, the gatherer's thread may hang, but the caller does
// not: this object detaches that thread, which then delivers nothing any more.
class StackGatherer {
 public:
  // `deliver` is called once for each Gather, by the gatherer's thread, or in Gather if there is no usable thread. It
  // must not call this object.
  StackGatherer(StackGathererOptions options, const Clock& clock, std::function<void(StacksGathered)> deliver);
  // Cuts short the work in progress. Takes at most a second, or two if something hangs.
  ~StackGatherer();
  StackGatherer(const StackGatherer&) = delete;
  StackGatherer& operator=(const StackGatherer&) = delete;

  // Starts collecting and returns at once. The first call starts the thread.
  void Gather(uint64_t query, std::vector<StackTarget> targets);

  // Cuts short the work in progress and waits until its answer has been delivered: at most a second, or two if
  // something hangs. After that this object has no child process. Call it before Keeper::KillAllDescendants, which
  // would take a running py-spy for a training process.
  void Abandon();

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

// Cuts the longest texts until all texts together fit into kMaxStacksBytes, and makes each one valid UTF-8. Cuts a text
// in its middle, since the main thread is at the top of py-spy's output and at the bottom of faulthandler's.
void KeepToLimits(std::vector<v1::SlotStack>& stacks);

}  // namespace muster::agent
