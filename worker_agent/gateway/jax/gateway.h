// What JAX's processes take for their coordination service (jax.distributed): gRPC without TLS on a port of this
// machine's loopback, for processes of this user only. The agents of a round answer together, over the job's store, so
// nothing is special about process 0, and no process of a job needs to reach another machine for it.
//
// The connection is life: a JAX process whose connection breaks ends at once. So the service is the agent's, which
// lives as long as its processes; ms-scheduler may come and go.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::jax {

// `store` and `clock` must outlive it. The store tells what each change has come to (AgentStore::patient): a number
// that is asked to be added to once more would be counted twice.
std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock);

}  // namespace muster::jax
