// What the processes of one machine take for PyTorch's store, where rank 0's node is another one: a port on loopback.
// All that they say goes over one link to the store's agent, and its answers come back; nothing is looked into or kept.
// While the link is cut they wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/tcp_server/server.h"
#include "worker_agent/gateway/torch_store/relay/hello.h"

namespace muster::torch_store {

struct RelayOptions {
  SocketAddress store;
  LinkHello hello;                      // who this is; the session is the relay's own
  std::shared_ptr<const TlsStore> tls;  // null: the link is plain
  // Why the other side of the link is not the store, by the name of its certificate; empty: it is. No function: it is.
  std::function<std::string(const std::optional<PeerName>& name)> why_not;
  size_t max_connections = 4096;
};

class Relay {
 public:
  // `clock` must outlive this. The link is made at once, and made anew until the end.
  static absl::StatusOr<std::unique_ptr<Relay>> Start(RelayOptions options, const Clock& clock);
  // Closes all connections.
  ~Relay();

  // On this machine's loopback; 0: any port. Returns it.
  absl::StatusOr<uint16_t> Listen(uint16_t port);

 private:
  explicit Relay(std::unique_ptr<TcpProtocol> protocol);

  std::unique_ptr<TcpProtocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // last: its thread uses the protocol
};

}  // namespace muster::torch_store
