// Finds out where training processes stand, in threads of its own: the agent's loop never waits for it.
//
// For each process the best of
//   py-spy        if that is in PATH;
//   faulthandler  if the process has agreed (muster_training.enable_stacks());
//   kernel        else: states and wait channels from /proc.
// Whatever the processes do, an answer comes within 8 s. A process is touched only if it is still the child of
// `parent`; it gets no signal but the one that it catches on purpose.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "worker_agent/core/events.h"
#include "worker_agent/keeper/unique_fd.h"

namespace muster::agent {

struct StackGathererOptions {
  std::string search_path;  // a PATH, for py-spy
  pid_t parent = 0;         // of the training processes: the keeper
  absl::Duration py_spy_timeout = absl::Seconds(4);
  absl::Duration signal_timeout = absl::Seconds(2);
  absl::Duration total_timeout = absl::Seconds(7);
};

struct StackTarget {
  uint32_t slot = 0;
  pid_t pid = 0;            // 0: no process runs
  std::string stacks_file;  // its MS_STACKS_FILE
};

class StackGatherer {
 public:
  // `deliver` is called by the gatherer's thread, once for each Gather.
  StackGatherer(StackGathererOptions options, const Clock& clock, std::function<void(StacksGathered)> deliver);
  // Cuts short what is under way; within a second.
  ~StackGatherer();
  StackGatherer(const StackGatherer&) = delete;
  StackGatherer& operator=(const StackGatherer&) = delete;

  // Never blocks. The thread starts with the first call.
  void Gather(uint64_t query, std::vector<StackTarget> targets) ABSL_LOCKS_EXCLUDED(mutex_);

  // Cuts short what is under way and waits until it has been answered, within a second. No child of this object is left
  // then: to be called before Keeper::KillAllDescendants, which would take such a child for a training process.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Request {
    uint64_t query = 0;
    std::vector<StackTarget> targets;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  StacksGathered Answer(const Request& request) const;
  v1::SlotStack Look(const StackTarget& target, MonotonicTime deadline) const;

  const StackGathererOptions options_;
  const Clock& clock_;
  const std::function<void(StacksGathered)> deliver_;
  const UniqueFd cancel_;  // an eventfd: readable while everything is to be cut short

  Mutex mutex_;
  CondVar changed_;
  std::deque<Request> requests_ ABSL_GUARDED_BY(mutex_);
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Makes all texts together fit into kMaxStacksBytes, the longest ones first; a text is cut in its middle, since the
// main thread stands at the top with py-spy and at the bottom with faulthandler. Valid UTF-8 afterwards.
void KeepToLimits(std::vector<v1::SlotStack>& stacks);

}  // namespace muster::agent
