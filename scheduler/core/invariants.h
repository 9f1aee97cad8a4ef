// The invariants of the core. In invariants.cc, the message of each check says in words what is wrong.
#pragma once

#include "absl/status/status.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/places/places.h"

namespace muster::scheduler {

// Aborts the process if an invariant does not hold.
void CheckInvariants(const Context& context, const Places& places);

// Fails if the recovered state is impossible: no program that keeps the invariants can have written its records. The
// error says what to do.
absl::Status CheckRecovered(const State& state);

}  // namespace muster::scheduler
