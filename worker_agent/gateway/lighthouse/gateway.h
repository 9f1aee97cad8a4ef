// torchft's lighthouse for this agent's processes. TORCHFT_LIGHTHOUSE leads to a port of loopback, which speaks gRPC
// without TLS. Requests go on to the scheduler, where the replicas of all jobs with this lighthouse meet.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "muster/v1/store.pb.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/lighthouse/replicas.h"

namespace muster::lighthouse {

// Asks the scheduler. Calls `done` once, from any thread, also from inside.
using SendReport =
    std::function<void(v1::ReplicasReport report, std::function<void(absl::StatusOr<v1::StoreReply>)> done)>;

// `clock` must outlive it.
std::unique_ptr<agent::Gateway> MakeGateway(Settings settings, SendReport send, const Clock& clock);

}  // namespace muster::lighthouse
