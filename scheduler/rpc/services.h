// The gRPC services Admin, Rendezvous and Store. The arguments of these functions must outlive the services.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"

namespace muster::scheduler {

// admin_service.cc: the service Admin. It asks the core through the loop, so that everything it returns is durable.
std::unique_ptr<grpc::Service> MakeAdminService(const ServiceContext& services);

// session_service.cc: the service Rendezvous, with the calls Session (a stream), GetPeers and LastReport.
std::unique_ptr<grpc::Service> MakeSessionService(const ServiceContext& services);

// store_service.cc: the service Store. The caller's certificate must cover the node that a request names, as for a
// join.
std::unique_ptr<grpc::Service> MakeStoreService(const ServiceContext& services, StoreCalls& calls);

}  // namespace muster::scheduler
