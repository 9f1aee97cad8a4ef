// Converts the durable state to one message, and back.
#pragma once

#include <cstddef>
#include <vector>

#include "muster/v1/journal.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// A snapshot before the values of the stores are copied into it. It shares the values with the state, so that
// DraftSnapshot is quick even when there are many values.
struct SnapshotDraft {
  v1::Snapshot snapshot;
  // The values of one run: snapshot.jobs(job).runs(run).
  struct Values {
    int job = 0;
    int run = 0;
    std::vector<SharedValue> values;
  };
  std::vector<Values> stores;
  size_t store_bytes = 0;
};

SnapshotDraft DraftSnapshot(const State& state);

// Returns the whole snapshot, with the values. Any thread may call this: it uses only the draft.
v1::Snapshot Complete(SnapshotDraft draft);

// Returns the state of this snapshot. Its volatile part is empty, as after a crash.
State FromSnapshot(const v1::Snapshot& snapshot);

}  // namespace muster::scheduler
