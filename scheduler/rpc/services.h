// The gRPC services: Admin, Rendezvous, Store. Their arguments are not owned, and must outlive them.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"

namespace muster::scheduler {

// admin_service.cc: Admin. It asks the core through the loop, so that all it returns is durable.
std::unique_ptr<grpc::Service> MakeAdminService(const ServiceContext& services);

// session_service.cc: Rendezvous: Session streams, GetPeers, LastReport.
std::unique_ptr<grpc::Service> MakeSessionService(const ServiceContext& services);

// store_service.cc: Store. As with joins, a node's certificate must cover the node that a request names.
std::unique_ptr<grpc::Service> MakeStoreService(const ServiceContext& services, StoreCalls& calls);

}  // namespace muster::scheduler
