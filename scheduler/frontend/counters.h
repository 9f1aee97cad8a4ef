// Returns the counts of refusals, and the times at which certificates expire. It does not ask the core, so it works
// even while the disk is full. Any thread may call it.
#pragma once

#include "muster/v1/admin.pb.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

v1::CountersReply CountersOf(const ServiceContext& services);

}  // namespace muster::scheduler
