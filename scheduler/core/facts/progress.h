// Progress of a run's processes (MS_PROGRESS_FILE). Pure functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// A running process that has shown progress in this round and attempt. The pointers are valid until the state changes.
struct Watched {
  const Node* node = nullptr;
  uint32_t slot = 0;
  uint32_t rank = 0;
  const ProcessProgress* progress = nullptr;
};

// Returns the progress of the process that runs in the slot now; null if nothing is known.
const ProcessProgress* ProgressOf(const Run& run, const Node& node, size_t slot);

// Returns the lowest step first, and at equal steps the process that has stood there longest. No step counts as 0.
std::vector<Watched> WatchedProcesses(const Run& run);

// Returns those that a recent report shows standing still, in the order of WatchedProcesses. What happened since that
// report is unknown and does not count.
std::vector<Watched> StandingStill(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval);

// Returns the cause for giving up a run that stands still. It names the workers that are `stopped` (ranks), else those
// at the lowest step: the others may merely wait for them.
CauseCandidate DescribeHang(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                            const std::set<uint32_t>& stopped);

// Returns the time after a round's start by which some process should show progress; infinite: no --progress_timeout.
absl::Duration FirstProgressLimit(const Run& run);

// True if processes run but none shows progress, so that --progress_timeout notices nothing.
bool IsUnwatched(const Run& run);
std::string DescribeUnwatched(const Run& run);

// Returns the process for which the others seem to have waited when one of them gave up: "rank 3 on host-b (node b),
// which …". That is one that had ended well already, else one that is behind. Call it while the round runs. Empty: not
// known.
std::string WaitedFor(const Run& run);

// True if nothing got further than where the last round was given up, although steps are written: trying again is not
// likely to help.
bool IsWithoutProgress(const Run& run);

// Returns a view for people. `watched` comes from WatchedProcesses and is not empty.
v1::ProgressStatus ProgressView(const std::vector<Watched>& watched, MonotonicTime now);

}  // namespace muster::scheduler
