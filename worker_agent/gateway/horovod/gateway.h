// Stands in for horovodrun's server, at which Horovod's processes find each other for Gloo. Each process asks its own
// agent, on loopback. The agents share the data through the job's store, so no port is open to other machines.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::horovod {

// `store` and `clock` must outlive the gateway.
std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock);

}  // namespace muster::horovod
