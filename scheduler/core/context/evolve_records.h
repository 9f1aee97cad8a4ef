// The parts of Evolve: they say how each kind of record changes the durable state, by what the record is about.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Each applies a record of its kinds, or returns false: the record is of another kind. They decide nothing and can't
// fail: a record is a fact.
bool ApplyToRun(State& state, const v1::Record& record);   // a run, its rounds, its store
bool ApplyToNode(State& state, const v1::Record& record);  // a node and its processes

// nullptr: the run has no such node.
Node* FindNode(State& state, const std::string& job_id, uint64_t number, const std::string& node_id);

// Takes `node` out of the run, which keeps its departure. `is_dead`: none of its processes runs any more.
void Remove(Run& run, const Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_dead);

// Turns a spare into a regular member, which holds ranks.
void MakeRegular(Run& run, Node& node);

}  // namespace muster::scheduler
