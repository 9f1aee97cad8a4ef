// torchft's lighthouse for this agent's processes. TORCHFT_LIGHTHOUSE names a port of loopback, which speaks gRPC
// without TLS. The gateway passes requests on to the scheduler, where the replicas of all jobs with this lighthouse
// meet.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "muster/v1/store.pb.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/lighthouse/replicas.h"

namespace muster::lighthouse {

// Sends the report to the scheduler. Calls `done` once with the answer, in any thread or from inside the call.
using SendReport =
    std::function<void(v1::ReplicasReport report, std::function<void(absl::StatusOr<v1::StoreReply>)> done)>;

// `clock` must outlive the gateway.
std::unique_ptr<agent::Gateway> MakeGateway(Settings settings, SendReport send, const Clock& clock);

}  // namespace muster::lighthouse
