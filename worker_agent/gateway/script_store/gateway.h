// The job's store at a port of this machine's loopback, for scripts of this user (the Python module `muster`). See
// docs/decisions/script-store.md. request.h lists the requests.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::script_store {

// `store` and `clock` must outlive the gateway. `store` must report the result of each change (AgentStore::patient).
std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock);

}  // namespace muster::script_store
