// The durable state as one message, and back.
#pragma once

#include <cstddef>
#include <vector>

#include "muster/v1/journal.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// A snapshot that lacks the values of the stores: they are shared with the state rather than copied, so that it is
// quickly made, also where there is much of them.
struct SnapshotDraft {
  v1::Snapshot snapshot;
  // For jobs(job).runs(run).
  struct Values {
    int job = 0;
    int run = 0;
    std::vector<SharedValue> values;
  };
  std::vector<Values> stores;
  size_t store_bytes = 0;
};

SnapshotDraft DraftSnapshot(const State& state);

// Any thread: touches nothing but the draft.
v1::Snapshot Complete(SnapshotDraft draft);

// The volatile part is as after a crash.
State FromSnapshot(const v1::Snapshot& snapshot);

}  // namespace muster::scheduler
