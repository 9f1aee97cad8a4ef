// A server for PyTorch's TCPStore: one store, which is empty at the start and ends with the server.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/tcp_server/server.h"
#include "worker_agent/gateway/torch_store/limits.h"
#include "worker_agent/gateway/torch_store/relay/links.h"

namespace muster::torch_store {

class Server {
 public:
  // `clock` must outlive this. `tcp`: its limit of connections and who is let in. `links`, with a `why_not`: processes
  // of other machines are served through their agents' links only.
  static absl::StatusOr<std::unique_ptr<Server>> Start(TcpServerOptions tcp, const Limits& limits, const Clock& clock,
                                                       LinksOptions links = {});
  // Closes all connections.
  ~Server();

  // See TcpServer.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port) { return server_->Listen(address, port, 0); }

 private:
  explicit Server(std::unique_ptr<TcpProtocol> protocol);

  std::unique_ptr<TcpProtocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // last: its thread uses the protocol
};

}  // namespace muster::torch_store
