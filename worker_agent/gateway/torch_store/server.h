// The two servers at which PyTorch's processes find TCPStore: the store itself, and the relay to it.
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

// Starts one store. It is empty at first, and ends with the server. `clock` must outlive the server. `tcp` limits the
// connections and decides which of them are accepted. If `links` has a `why_not`, processes of other machines are
// served only through their agents' links.
absl::StatusOr<std::unique_ptr<Service>> StartServer(TcpServerOptions tcp, const Limits& limits, const Clock& clock,
                                                     LinksOptions links = {});

struct RelayOptions {
  SocketAddress store;
  LinkHello hello;                      // of this agent; the relay fills in the session
  std::shared_ptr<const TlsStore> tls;  // null: the link is plain
  // Returns why the name in the other side's certificate is not that of the store's agent; empty: it is. Without a
  // function, nothing is checked.
  std::function<std::string(const std::optional<PeerName>& name)> why_not;
  size_t max_connections = 4096;
};

// Starts a relay: a port on loopback that this machine's processes use as PyTorch's store if rank 0 is on another
// node. It sends all their bytes over one link to the store's agent and returns the answers. It neither inspects nor
// stores them. While the link is cut, the processes wait. The relay makes the link at once, and makes it again whenever
// it is cut. `clock` must outlive the relay.
absl::StatusOr<std::unique_ptr<Service>> StartRelay(RelayOptions options, const Clock& clock);

}  // namespace muster::torch_store
