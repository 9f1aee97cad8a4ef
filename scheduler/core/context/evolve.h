// The only way to change the durable state: applying a record of the journal.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Applies one record. Returns its lines for people (event_log.h), which it has also added to the state's event log.
std::vector<std::shared_ptr<const v1::JobEvent>> Evolve(State& state, const v1::Record& record);

// Gives write access to the records: to Evolve, to FromSnapshot, and to tests that set a scene. The style stage
// (tests/tidy) checks that otherwise only callers of Evolve include this header.
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
