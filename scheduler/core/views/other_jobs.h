// Other jobs of the same user that wait for nodes, too. Where each node was started with a job id of its own
// (`--rdzv_id $RANDOM`), every half waits for the other, and only the scheduler sees both. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

// "job 222 of the same user waits, too (1 of 2 workers): …". With TLS the same identity counts, not the user's name,
// which the node itself says. Names a few jobs at most. Empty: this run lacks no workers, or no other one does.
std::string DescribeOtherJobs(const State& state, const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
