// Sends queries and changes from the gRPC and HTTP services to the core. Any thread may call these functions.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

// Gives the call a query id, and posts the event that `make_event` returns for this id when it is the turn of
// `principal` (see PendingQueries). Calls `done` exactly once, on any thread, with the core's answer or with the reason
// why there is none within `limit`. If AskCore returns an error, it does not call `done`.
absl::Status AskCore(const ServiceContext& services, const std::string& principal, absl::Duration limit,
                     const std::function<Event(QueryId)>& make_event, PendingQueries::Done done);

// OK if this peer may change the job; counts a refusal.
absl::Status MayChange(const ServiceContext& services, const PeerFacts& peer, const std::string& job_id);

}  // namespace muster::scheduler
