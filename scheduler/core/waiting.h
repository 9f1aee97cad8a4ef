// Who is there, who is missing, and how long is left: what everybody is told while a job forms or waits. Pure.
#pragma once

#include "common/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

v1::WaitStatus DescribeWaiting(const Run& run, MonotonicTime now);

}  // namespace muster::scheduler
