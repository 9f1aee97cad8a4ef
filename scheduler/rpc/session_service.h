// The Rendezvous service: Session streams, GetPeers, Farewell.
#pragma once

#include <memory>

#include "scheduler/frontend/service_context.h"

namespace grpc {
class Service;
}

namespace muster::scheduler {

// `services` must outlive the service.
std::unique_ptr<grpc::Service> MakeSessionService(const ServiceContext& services);

}  // namespace muster::scheduler
