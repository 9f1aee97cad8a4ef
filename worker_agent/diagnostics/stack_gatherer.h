// Finds out where training processes stand, in threads of its own: the agent's loop never waits for it.
//
// For each process the best of
//   py-spy        if that is in PATH, which a process of its own finds out: a folder there may hang;
//   faulthandler  if the process has agreed (muster_training.enable_stacks());
//   kernel        else: states and wait channels from /proc.
// An answer always comes within 8 s. A process is touched only if it is still the child of `parent`; it gets no signal
// except the one that it catches on purpose.
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
  std::string search_path;  // a PATH, for py-spy and its environment; relative folders are left out
  pid_t parent = 0;         // of the training processes' shims: the keeper
  absl::Duration py_spy_timeout = absl::Seconds(4);
  absl::Duration signal_timeout = absl::Seconds(2);
  absl::Duration total_timeout = absl::Seconds(7);
};

struct StackTarget {
  uint32_t slot = 0;
  pid_t pid = 0;            // 0: no process runs
  std::string stacks_file;  // its MS_STACKS_FILE
};

// One thread calls it. A file system that hangs may hold the gatherer's thread, but not the caller: the thread is left
// behind then, and delivers nothing any more.
class StackGatherer {
 public:
  // `deliver` is called by the gatherer's thread, once for each Gather, and mustn't call back.
  StackGatherer(StackGathererOptions options, const Clock& clock, std::function<void(StacksGathered)> deliver);
  // Cuts short the work under way; within a second, two where something hangs.
  ~StackGatherer();
  StackGatherer(const StackGatherer&) = delete;
  StackGatherer& operator=(const StackGatherer&) = delete;

  // Never blocks. The thread starts with the first call.
  void Gather(uint64_t query, std::vector<StackTarget> targets);

  // Cuts short the work under way and waits until it has been answered, within a second, two where something hangs. No
  // child of this object is left then: to be called before Keeper::KillAllDescendants, which would take such a child
  // for a training process.
  void Abandon();

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

// Makes all texts together fit into kMaxStacksBytes, the longest ones first; a text is cut in its middle, since the
// main thread is at the top with py-spy and at the bottom with faulthandler. Valid UTF-8 afterwards.
void KeepToLimits(std::vector<v1::SlotStack>& stacks);

}  // namespace muster::agent
