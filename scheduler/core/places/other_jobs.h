// Finds other jobs of the same user that wait for nodes, too. If each node was started with a job id of its own
// (`--rdzv_id $RANDOM`), every half waits for the other, and only the scheduler sees both. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns "another job of the same user waits, too: 222 (1 of 2 workers): …", with a few jobs at most; empty: this run
// lacks no workers, or no other one does. All nodes of the run read it, so all must be of one user; with TLS also of
// one identity, because a user's name is only what the node claims. Looks at each job (kMaxJobs).
std::string DescribeOtherJobs(const State& state, const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
