// How the durable state changes: through the records of the journal, and in no other way.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Takes over one record. Returns what it says to people (event_log.h); that has been added to the state's event log.
std::vector<std::shared_ptr<const v1::JobEvent>> Evolve(State& state, const v1::Record& record);

// Opens the records for change: for Evolve, for FromSnapshot, and for tests that set a scene. The style stage
// (tests/tidy) sees that nobody else includes this header but who calls Evolve.
struct Recorder {
  static StateRecord& Edit(State& state) { return state.record_; }
  static RunRecord& Edit(Run& run) { return run.record_; }
  static NodeRecord& Edit(Node& node) { return node.record_; }
  static IdTable<Node>& NodesOf(Run& run) { return run.nodes; }
};

inline StateRecord& Edit(State& state) { return Recorder::Edit(state); }
inline RunRecord& Edit(Run& run) { return Recorder::Edit(run); }
inline NodeRecord& Edit(Node& node) { return Recorder::Edit(node); }
inline IdTable<Node>& NodesOf(Run& run) { return Recorder::NodesOf(run); }

}  // namespace muster::scheduler
