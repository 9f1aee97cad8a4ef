// Ends ms-scheduler with --once: at the end of a job of agents or of a cluster at --mindspore_port, whichever ends
// first, or if neither formed.
#pragma once

#include <atomic>
#include <functional>

#include "scheduler/core/state/events.h"
#include "scheduler/mindspore/direct_cluster.h"

namespace muster::scheduler {

// Any thread may call it.
class OnceEnd {
 public:
  // `end` gets the exit code, maybe more than once: the first one counts. Without --once it is never called.
  OnceEnd(bool is_once, bool has_direct_port, std::function<void(int exit_code)> end);

  void OnRun(const RunSettled& settled);  // run 0: no job formed in time
  void OnDirect(DirectEnd end);

 private:
  void EndIfNoneFormed();

  const bool is_once_;
  const std::function<void(int)> end_;
  std::atomic<bool> has_no_run_ = false;
  std::atomic<bool> has_no_cluster_;
};

}  // namespace muster::scheduler
