// The durable state as one message, and back.
#pragma once

#include <cstddef>
#include <vector>

#include "muster/v1/journal.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// A snapshot without the values of the stores. It shares them with the state instead of copying them, so that taking it
// is quick even when there are many.
struct SnapshotDraft {
  v1::Snapshot snapshot;
  // The values of jobs(job).runs(run).
  struct Values {
    int job = 0;
    int run = 0;
    std::vector<SharedValue> values;
  };
  std::vector<Values> stores;
  size_t store_bytes = 0;
};

SnapshotDraft DraftSnapshot(const State& state);

// Any thread may call this: it touches only the draft.
v1::Snapshot Complete(SnapshotDraft draft);

// Returns a state with its volatile part as after a crash.
State FromSnapshot(const v1::Snapshot& snapshot);

}  // namespace muster::scheduler
