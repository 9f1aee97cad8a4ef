// A server for MindSpore's frames on TCP ports: for an agent's gateway, and for the scheduler's --mindspore_port.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/mindspore/cluster.h"
#include "common/tcp_server/server.h"

namespace muster::mindspore {

class Server {
 public:
  // `cluster` and `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<Server>> Start(TcpServerOptions options, Cluster& cluster, const Clock& clock);
  // Answers the requests in flight and closes everything.
  ~Server();

  // See TcpServer.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port, uint32_t listener) {
    return server_->Listen(address, port, listener);
  }
  void StopListening(uint32_t listener) { server_->StopListening(listener); }

 private:
  explicit Server(std::unique_ptr<TcpProtocol> protocol);

  std::unique_ptr<TcpProtocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // declared last: its thread uses the protocol
};

}  // namespace muster::mindspore
