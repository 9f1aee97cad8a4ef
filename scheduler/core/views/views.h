// What ms-ctl is shown. Pure: looks at what is known, and changes nothing of it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

Answer AnswerQuery(const Context& context, const QueryReceived& event);

// "lost", "settled", "connected", "disconnected".
const char* NodeStateName(const Node& node);

// Run 0: the latest. Null: there is none.
Run* FindNamed(State& state, const std::string& job_id, uint64_t run);
// What is said of a name that leads nowhere.
absl::Status NoSuchRun(const std::string& job_id, uint64_t run);
absl::Status NoSuchNode(const Run& run, const std::string& node_id);

}  // namespace muster::scheduler
