// The Admin service: asks the core through the loop, so that what it tells is durable.
#pragma once

#include <memory>

#include "scheduler/frontend/service_context.h"

namespace grpc {
class Service;
}

namespace muster::scheduler {

// `services` must outlive the service.
std::unique_ptr<grpc::Service> MakeAdminService(const ServiceContext& services);

}  // namespace muster::scheduler
