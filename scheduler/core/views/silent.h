// Nodes that have not been heard for longer than a heartbeat may take, while nothing is decided about them: for people,
// who would otherwise read "running" for a minute after a machine is gone. Pure.
#pragma once

#include <string>

#include "scheduler/core/context/context.h"

namespace muster::scheduler {

// "node b (host-b, 10.0.0.2) for 12 s: lost in 9 min 48 s at the latest"; a few at most. Empty: all are heard, or the
// run has ended.
std::string DescribeSilent(const Context& context, const Run& run);

}  // namespace muster::scheduler
