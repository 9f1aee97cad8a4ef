// A request of the store as it comes in: whether its sender may ask, and on to the
// core.
#pragma once

#include "scheduler/core/state/events.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"

namespace muster::scheduler {

// Any thread. `done` is called once, possibly before this returns; see StoreCalls::Call for the errors, beside
// PERMISSION_DENIED. What is turned away for its form, its sender or want of room is counted in the log.
void CallStore(const ServiceContext& services, StoreCalls& calls, const PeerFacts& peer, StoreOperation operation,
               StoreCalls::Done done);

}  // namespace muster::scheduler
