// The Store service: a node's certificate must cover the node that a request names, as with joins.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"

namespace muster::scheduler {

// Neither is owned; both must outlive the service.
std::unique_ptr<grpc::Service> MakeStoreService(const ServiceContext& services, StoreCalls& calls);

}  // namespace muster::scheduler
