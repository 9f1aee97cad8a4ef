// The parts of Evolve: how each kind of record changes the durable state. One part is for the records about runs, the
// other for those about nodes.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Each function applies a record about its subject, or returns false if the record is about something else. It decides
// nothing and can't fail, because a record is a fact.
bool ApplyToRun(State& state, const v1::Record& record);   // subject: a run, its rounds, its store
bool ApplyToNode(State& state, const v1::Record& record);  // subject: a node and its processes

// Returns null if there is no such run or node.
Node* FindNode(State& state, const std::string& job_id, uint64_t number, const std::string& node_id);

// Removes `node` from the run's nodes, and notes its departure in the run. `is_dead`: none of its processes runs any
// more.
void Remove(Run& run, const Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_dead);

// Turns a spare into a regular member, which holds ranks.
void MakeRegular(Run& run, Node& node);

}  // namespace muster::scheduler
