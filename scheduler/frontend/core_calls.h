// Queries and changes from a service to the core: the same for gRPC and HTTP. Any thread.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

// Posts the event that `make_event` makes for a call's number, when `principal` has its turn (PendingQueries). Calls
// `done` exactly once, on any thread, with the core's answer or with the reason why there is none within `limit`. Does
// not call it if this returns an error.
absl::Status AskCore(const ServiceContext& services, const std::string& principal, absl::Duration limit,
                     const std::function<Event(QueryId)>& make_event, PendingQueries::Done done);

// OK if this peer may change the job; counts a refusal.
absl::Status MayChange(const ServiceContext& services, const PeerFacts& peer, const std::string& job_id);

}  // namespace muster::scheduler
