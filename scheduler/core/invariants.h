// What must hold whatever happens. Each is said in words where it is broken; see invariants.cc.
#pragma once

#include "absl/status/status.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/places/places.h"

namespace muster::scheduler {

// Aborts if one does not hold.
void CheckInvariants(const Context& context, const Places& places);

// Whether what came out of the journal can be the past: no program that keeps the invariants has written other records.
// An error says what to do.
absl::Status CheckRecovered(const State& state);

}  // namespace muster::scheduler
