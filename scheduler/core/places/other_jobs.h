// Finds other jobs of the same user that also wait for nodes. If the nodes of one job were started with different job
// ids (`--rdzv_id $RANDOM`), each of these jobs waits for the others, and only the scheduler knows all of them. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Returns "another job of the same user waits, too: 222 (1 of 2 workers): …", with a few jobs at most. Returns an empty
// text unless both this run and another job lack workers. All nodes of the run get the text, so they must all be of
// one user. With TLS they must also have one identity, because the user's name is not proved. The time grows with the
// number of jobs (at most kMaxJobs).
std::string DescribeOtherJobs(const State& state, const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
