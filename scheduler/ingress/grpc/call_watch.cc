#include "scheduler/ingress/grpc/call_watch.h"

#include <grpcpp/server_context.h>

#include <utility>

namespace muster::scheduler {

void CallWatch::Attach(std::function<void(const std::string& peer)> note) { note_ = std::move(note); }

grpc::experimental::Interceptor* CallWatch::CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) {
  if (note_) note_(info->server_context()->peer());
  return nullptr;
}

}  // namespace muster::scheduler
