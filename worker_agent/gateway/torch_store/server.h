// The servers that PyTorch's processes use as TCPStore: the store, and the relay to it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "worker_agent/gateway/chassis/tcp_service.h"
#include "worker_agent/gateway/torch_store/limits.h"
#include "worker_agent/gateway/torch_store/relay/hello.h"
#include "worker_agent/gateway/torch_store/relay/links.h"

namespace muster::torch_store {

using Service = agent::TcpService<TcpProtocol>;

// Starts one store, which is empty at first and ends with the server. `clock` must outlive it. `tcp` limits the
// connections and decides which are let in. If `links` has a `why_not`, processes of other machines are served only
// through their agents' links.
absl::StatusOr<std::unique_ptr<Service>> StartServer(TcpServerOptions tcp, const Limits& limits, const Clock& clock,
                                                     LinksOptions links = {});

struct RelayOptions {
  SocketAddress store;
  LinkHello hello;                      // of this agent; the relay makes its own session
  std::shared_ptr<const TlsStore> tls;  // null: the link is plain
  // Returns why the link's other side is not the store, by its certificate's name; empty: it is. No function: no check.
  std::function<std::string(const std::optional<PeerName>& name)> why_not;
  size_t max_connections = 4096;
};

// Starts the relay that one machine's processes use as PyTorch's store, where rank 0's node is another machine: a port
// on loopback. It sends all their bytes over one link to the store's agent and returns the answers. It inspects and
// keeps nothing. While the link is cut they wait. It makes the link at once, and again until the end. `clock` must
// outlive it.
absl::StatusOr<std::unique_ptr<Service>> StartRelay(RelayOptions options, const Clock& clock);

}  // namespace muster::torch_store
