// Evolve is the only way to change the durable state: it applies a record of the journal.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Applies one record. Adds the record's lines for people (event_log.h) to the state's event log, and returns them.
std::vector<std::shared_ptr<const v1::JobEvent>> Evolve(State& state, const v1::Record& record);

// Gives Evolve, FromSnapshot and tests write access to the durable state. The style stage (tests/tidy) checks that,
// apart from these, only callers of Evolve include this header.
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
