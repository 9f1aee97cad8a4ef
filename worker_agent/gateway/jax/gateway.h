// Stands in for JAX's coordination service (jax.distributed). It speaks gRPC without TLS on a port of this machine's
// loopback, for processes of this user only. The agents of a round answer together, over the job's store. So process 0
// is not special, and no process of a job needs to reach another machine for the service.
//
// A JAX process ends at once when its connection to the service breaks. So the service belongs to the agent, which
// lives as long as its processes. A restart of ms-scheduler does not matter to them.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::jax {

// `store` and `clock` must outlive the gateway. `store` must report the result of each change (AgentStore::patient): if
// an addition were repeated without a known result, it could count twice.
std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock);

}  // namespace muster::jax
