// How a service asks the core, and who may have it change something: the same for gRPC and HTTP. Any thread.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/frontend/service_context.h"

namespace muster::scheduler {

// Posts the event that `make_event` makes for a call's number, when it is the turn of `party` (PendingQueries). `done`
// is called exactly once, by any thread, with the core's answer or with why there is none within `limit`; not where an
// error is returned.
absl::Status AskCore(const ServiceContext& services, const std::string& party, absl::Duration limit,
                     const std::function<Event(QueryId)>& make_event, PendingQueries::Done done);

// Whether this peer may change something about a job; a refusal is counted.
absl::Status MayChange(const ServiceContext& services, const PeerFacts& peer, const std::string& job_id);

}  // namespace muster::scheduler
