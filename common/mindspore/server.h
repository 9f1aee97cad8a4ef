// MindSpore's frames at TCP ports: for the gateway of an agent, and for --mindspore_port of the scheduler.
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
  // Answers what is in flight and closes everything.
  ~Server();

  // See TcpServer.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port, uint32_t listener) {
    return server_->Listen(address, port, listener);
  }
  void StopListening(uint32_t listener) { server_->StopListening(listener); }

 private:
  explicit Server(std::unique_ptr<TcpProtocol> protocol);

  std::unique_ptr<TcpProtocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // last: its thread uses the protocol
};

}  // namespace muster::mindspore
