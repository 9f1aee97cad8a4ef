// The processes of a run that show their progress (MS_PROGRESS_FILE). Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduler/core/state/state.h"

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

// Those of whom a recent report says that they stand still, in the order of WatchedProcesses. What happened since that
// report nobody knows: it counts for nothing.
std::vector<Watched> StandingStill(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval);

// What the run is given up for when it stands still. The workers that are `stopped` (ranks) come first, then those that
// stand at the lowest step: the others may merely wait for them.
CauseCandidate DescribeHang(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                            const std::set<uint32_t>& stopped);

// How long after a round's begin some process should have shown progress; infinite: the run has no --progress_timeout.
absl::Duration FirstProgressLimit(const Run& run);

// Processes run, but none shows progress, so that --progress_timeout notices nothing.
bool IsUnwatched(const Run& run);
std::string DescribeUnwatched(const Run& run);

// Whom the others seem to have waited for when one of them gave up waiting: "rank 3 on host-b (node b), which …": one
// that had ended well already, else one that is behind. To be asked while the round runs. Empty: not known.
std::string WaitedFor(const Run& run);

// Nothing got further than where the last round was given up, although steps are written: trying again is not likely to
// help.
bool IsWithoutProgress(const Run& run);

// For people; `watched` as WatchedProcesses gives it, not empty.
v1::ProgressStatus ProgressView(const std::vector<Watched>& watched, MonotonicTime now);

}  // namespace muster::scheduler
