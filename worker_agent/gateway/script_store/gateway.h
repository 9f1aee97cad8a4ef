// The job's store at a port of this machine's loopback, for scripts of this user: the Python module `muster`, see
// docs/decisions/script-store.md. What they ask stands in request.h.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::script_store {

// `store`, which tells of each change what it came to (AgentStore::patient), and `clock` must outlive it.
std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock);

}  // namespace muster::script_store
