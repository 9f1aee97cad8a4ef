// Takes a request of the store: checks that its sender may make it, and passes it to the core.
#pragma once

#include "scheduler/core/state/events.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"

namespace muster::scheduler {

// Any thread. Calls `done` once, possibly before this returns; see StoreCalls::Call for the errors, besides
// PERMISSION_DENIED. Counts in the log what is refused for its form, its sender or lack of room.
void CallStore(const ServiceContext& services, StoreCalls& calls, const PeerFacts& peer, StoreOperation operation,
               StoreCalls::Done done);

}  // namespace muster::scheduler
