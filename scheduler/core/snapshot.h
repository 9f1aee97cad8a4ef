// The durable state as one message, and back.
#pragma once

#include "muster/v1/journal.pb.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

v1::Snapshot ToSnapshot(const State& state);

// The volatile part is as after a crash.
State FromSnapshot(const v1::Snapshot& snapshot);

}  // namespace muster::scheduler
