// The invariants of the core. The text of each check in invariants.cc says it in words.
#pragma once

#include "absl/status/status.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/places/places.h"

namespace muster::scheduler {

// Aborts if one does not hold.
void CheckInvariants(const Context& context, const Places& places);

// Fails if the recovered state is impossible: no program that keeps the invariants can have written its records. The
// error says what to do.
absl::Status CheckRecovered(const State& state);

}  // namespace muster::scheduler
