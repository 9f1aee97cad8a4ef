// The processes of a run that show their progress (MS_PROGRESS_FILE). Pure.
#pragma once

#include <vector>

#include "scheduler/core/state.h"

namespace muster::scheduler {

// A running process that has shown progress in this round and attempt. The pointers live as long as the state does not
// change.
struct Watched {
  const Node* node = nullptr;
  uint32_t slot = 0;
  uint32_t rank = 0;
  const ProcessProgress* progress = nullptr;
};

// What is known of the process that runs in the slot now; null: nothing.
const ProcessProgress* ProgressOf(const Run& run, const Node& node, size_t slot);

// The lowest step first, among equal ones who has stood there longest; who writes no numbers comes before all.
std::vector<Watched> WatchedProcesses(const Run& run);

// For people; `watched` as WatchedProcesses gives it, not empty.
v1::ProgressStatus ProgressView(const std::vector<Watched>& watched, MonotonicTime now);

}  // namespace muster::scheduler
