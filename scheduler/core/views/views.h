// Answers ms-ctl's queries. Pure: it only reads the state.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/admin.pb.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

Answer AnswerQuery(const Context& context, const QueryReceived& event);

// "lost", "settled", "connected", "disconnected".
const char* NodeStateName(const Node& node);

// Returns the run with this number; `run` 0 means the latest run. Returns null if there is no such run.
Run* FindNamed(State& state, const std::string& job_id, uint64_t run);
// Return the error for a run or node that does not exist.
absl::Status NoSuchRun(const std::string& job_id, uint64_t run);
absl::Status NoSuchNode(const Run& run, const std::string& node_id);

// ---- missing.cc

// Returns the nodes that a run waits for, one by one: `ms-ctl nodes --missing`.
v1::MissingNodes MissingOf(const Context& context, const Run& run);

// ---- silent.cc

// Describes the nodes that have been silent for longer than a heartbeat may take, but are not lost yet. Without this,
// people would read only "running" for a while after a machine has gone. Returns a few nodes at most, in this form:
// "node b (host-b, 10.0.0.2) for 12 s: lost in 9 min 48 s at the latest". Returns an empty text if no node is silent or
// the run has ended.
std::string DescribeSilent(const Context& context, const Run& run);

}  // namespace muster::scheduler
