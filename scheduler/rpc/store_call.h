// Checks that the sender of a store request may make it, and passes it to the core.
#pragma once

#include "scheduler/core/state/events.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"

namespace muster::scheduler {

// Calls `done` once with the answer or an error, possibly before CallStore returns. PERMISSION_DENIED: `peer` may not
// make this request. See StoreCalls::Call for the other errors. Logs and counts a request that is refused because of
// its form, its sender, or lack of room. Any thread.
void CallStore(const ServiceContext& services, StoreCalls& calls, const PeerFacts& peer, StoreOperation operation,
               StoreCalls::Done done);

}  // namespace muster::scheduler
