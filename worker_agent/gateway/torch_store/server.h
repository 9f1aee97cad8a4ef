// The servers that PyTorch's TCPStore takes for its own: the store, and the relay to it.
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

// One store, which is empty at the start and ends with the server. `clock` must outlive it. `tcp`: its limit of
// connections and who is let in. `links`, with a `why_not`: processes of other machines are served through their
// agents' links only.
absl::StatusOr<std::unique_ptr<Service>> StartServer(TcpServerOptions tcp, const Limits& limits, const Clock& clock,
                                                     LinksOptions links = {});

struct RelayOptions {
  SocketAddress store;
  LinkHello hello;                      // who this is; the session is the relay's own
  std::shared_ptr<const TlsStore> tls;  // null: the link is plain
  // Why the other side of the link is not the store, by the name of its certificate; empty: it is. No function: it is.
  std::function<std::string(const std::optional<PeerName>& name)> why_not;
  size_t max_connections = 4096;
};

// What the processes of one machine take for PyTorch's store, where rank 0's node is another one: a port on loopback.
// All that they say goes over one link to the store's agent, and its answers come back; nothing is looked into or kept.
// While the link is cut they wait. The link is made at once, and made again until the end. `clock` must outlive it.
absl::StatusOr<std::unique_ptr<Service>> StartRelay(RelayOptions options, const Clock& clock);

}  // namespace muster::torch_store
