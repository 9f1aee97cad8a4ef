// Answers ms-ctl's queries. Pure: reads what is known, and changes nothing of it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/admin.pb.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

Answer AnswerQuery(const Context& context, const QueryReceived& event);

// "lost", "settled", "connected", "disconnected".
const char* NodeStateName(const Node& node);

// Returns the run; run 0 is the latest. Null: there is none.
Run* FindNamed(State& state, const std::string& job_id, uint64_t run);
// Return the error for a name that leads nowhere.
absl::Status NoSuchRun(const std::string& job_id, uint64_t run);
absl::Status NoSuchNode(const Run& run, const std::string& node_id);

// ---- missing.cc

// Returns the nodes that a run waits for, one by one: `ms-ctl nodes --missing`.
v1::MissingNodes MissingOf(const Context& context, const Run& run);

// ---- silent.cc

// Describes nodes that have not been heard for longer than a heartbeat may take, while nothing is decided about them:
// people would otherwise read "running" for a minute after a machine is gone. Returns "node b (host-b, 10.0.0.2) for 12
// s: lost in 9 min 48 s at the latest", a few nodes at most. Empty: all are heard, or the run has ended.
std::string DescribeSilent(const Context& context, const Run& run);

}  // namespace muster::scheduler
