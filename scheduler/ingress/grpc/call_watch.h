// Reports the start of every gRPC call, with the connection over which it came.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <string>

namespace muster::scheduler {

class CallWatch : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // Sets the function that is called at the start of each call, on any thread. Its argument is gRPC's name for the peer
  // (see ConnectionPeers::Find). Call Attach before gRPC gets its first connection.
  void Attach(std::function<void(const std::string& peer)> note);

  // Calls `note` and returns null: it only watches, and changes no call.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override;

 private:
  std::function<void(const std::string& peer)> note_;
};

}  // namespace muster::scheduler
