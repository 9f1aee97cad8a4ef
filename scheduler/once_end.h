// Decides when `ms-scheduler --once` ends. It ends when a job of agents or a cluster at --mindspore_port ends,
// whichever is first. It also ends when neither has formed in time.
#pragma once

#include <atomic>
#include <functional>

#include "scheduler/core/state/events.h"
#include "scheduler/mindspore/direct_cluster.h"

namespace muster::scheduler {

// Any thread may call it.
class OnceEnd {
 public:
  // Calls `end` with the exit code. It may call `end` more than once; only the first call counts. Without --once it
  // never calls `end`.
  OnceEnd(bool is_once, bool has_direct_port, std::function<void(int exit_code)> end);

  void OnRun(const RunSettled& settled);  // settled.run is 0 if no job formed in time
  void OnDirect(DirectEnd end);

 private:
  void EndIfNoneFormed();

  const bool is_once_;
  const std::function<void(int)> end_;
  std::atomic<bool> has_no_run_ = false;
  std::atomic<bool> has_no_cluster_;
};

}  // namespace muster::scheduler
