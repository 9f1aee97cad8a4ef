// Sees the first moment of every call, whichever service it is for, and tells whose connection it came over.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <string>

namespace muster::scheduler {

class CallWatch : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `note` gets gRPC's form of the peer; any thread; before the first connection is handed to gRPC.
  void Attach(std::function<void(const std::string& peer)> note);

  // Never intercepts anything.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override;

 private:
  std::function<void(const std::string& peer)> note_;
};

}  // namespace muster::scheduler
