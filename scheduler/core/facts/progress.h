// Progress of a run's processes (MS_PROGRESS_FILE, --expect), and what it means when they stand still. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/facts/stack_groups.h"
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
// The same for what it does.
const ProcessActivity* ActivityOf(const Run& run, const Node& node, size_t slot);

// Returns the rate of the last steps, where newer steps weigh more; 0: not known, for example after a step number that
// fell.
double StepsPerSecond(const ProcessProgress& before, const ProcessProgress& now);

// Returns the processes that have shown progress, the lowest step first; at equal steps, the one that has been there
// longest first. A process without a step counts as at step 0.
std::vector<Watched> WatchedProcesses(const Run& run);

// Returns the processes that stood still for --progress_timeout at their last report, if that report is recent. They
// are in the order of WatchedProcesses. The time since the report does not count, because nothing is known about it.
std::vector<Watched> StandingStill(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                                   absl::Duration less = absl::ZeroDuration());

// Returns the cause for giving up a run that stands still. It names the workers that are stopped. If none is, it names
// those at the lowest step, because the others may be waiting for them. If all are at one step, it names the suspect
// that JudgeGroups finds.
CauseCandidate DescribeStall(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                             const std::vector<StackGroup>& groups);

// Returns the cause for giving up a run that shows no progress at all.
CauseCandidate DescribeFirstStall(const Run& run, MonotonicTime now, const std::vector<StackGroup>& groups);

// Returns the time by which some process has to show progress; never: no --first_progress_timeout.
MonotonicTime FirstProgressDeadline(const Run& run, MonotonicTime now);

// Returns the time after a round's start by which some process should show progress; infinite: no --progress_timeout.
absl::Duration FirstProgressLimit(const Run& run);

// True if processes run but none shows progress, so that --progress_timeout notices nothing.
bool IsUnwatched(const Run& run);
std::string DescribeUnwatched(const Run& run);
// True if processes run and none has shown progress, as all nodes report. Without the report of a node nothing is
// known.
bool LacksFirstProgress(const Run& run);

// Describes a process that the kernel does not let run: "rank 3 on host-b (node b): process 12 (python3) has been …".
std::string DescribeHalted(const Node& node, const HaltedOnNode& halted, MonotonicTime now);
// Describes all such processes of a run; returns an empty text if there are none.
std::string DescribeHalted(const Run& run, MonotonicTime now);

// Returns the process for which the others seem to have waited when one of them gave up: "rank 3 on host-b (node b),
// which …". This is a process that had already ended with exit code 0, else one at a lower step than others. Returns an
// empty text if it is not known. Call it while the round runs.
std::string WaitedFor(const Run& run);

// True if the processes write steps, but none has passed the highest step at which the last round was given up. Another
// try is then not likely to help.
bool IsWithoutProgress(const Run& run);

// Returns a view for people. `watched` comes from WatchedProcesses and is not empty.
v1::ProgressStatus ProgressView(const std::vector<Watched>& watched, MonotonicTime now);

}  // namespace muster::scheduler
