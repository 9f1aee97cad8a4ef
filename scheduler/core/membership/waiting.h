// Who is there, who is missing, and how long is left: what everybody is told while a job forms or waits. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

v1::WaitStatus DescribeWaiting(const Run& run, MonotonicTime now);

// How long the processes of a lost node may still run, with a space before it: " for 20 s", or who has to say that they
// don't.
std::string DescribeStaleEnd(const Node& node, MonotonicTime now);

}  // namespace muster::scheduler
