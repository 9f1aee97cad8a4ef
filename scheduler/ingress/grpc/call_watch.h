// Reports the start of every call, of any service, with the connection that it came over.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <string>

namespace muster::scheduler {

class CallWatch : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `note` gets gRPC's form of the peer, on any thread. Attach it before gRPC gets its first connection.
  void Attach(std::function<void(const std::string& peer)> note);

  // Never intercepts anything.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override;

 private:
  std::function<void(const std::string& peer)> note_;
};

}  // namespace muster::scheduler
