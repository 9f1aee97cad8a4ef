// The counts of refusals and the expiry of certificates. Needs nothing of the core, so it works on a full disk, too.
// Any thread.
#pragma once

#include "muster/v1/admin.pb.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

v1::CountersReply CountersOf(const ServiceContext& services);

}  // namespace muster::scheduler
