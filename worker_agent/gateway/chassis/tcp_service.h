// A server for a framework's protocol over TCP. It owns the protocol's state and the TcpServer, which calls the
// protocol on its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/tcp_server/server.h"
#include "worker_agent/gateway/chassis/post.h"

namespace muster::agent {

// `Protocol` must be a TcpProtocol.
template <typename Protocol>
class TcpService {
 public:
  // `clock` must outlive this. The error names what was not available: a descriptor, a thread.
  static absl::StatusOr<std::unique_ptr<TcpService>> Start(TcpServerOptions options, std::unique_ptr<Protocol> protocol,
                                                           const Clock& clock) {
    std::unique_ptr<TcpService> service(new TcpService(std::move(protocol)));
    absl::StatusOr<std::unique_ptr<TcpServer>> server =
        TcpServer::Start(std::move(options), *service->protocol_, clock);
    if (!server.ok()) return server.status();
    service->server_ = *std::move(server);
    return service;
  }

  // See TcpServer::Listen.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port, uint32_t listener = 0) {
    return server_->Listen(address, port, listener);
  }
  absl::StatusOr<uint16_t> ListenOnLoopback(uint16_t port, uint32_t listener = 0) {
    return Listen(*IpAddress::Parse("127.0.0.1"), port, listener);
  }
  // Listens at all addresses; only at those of IPv4 if the kernel has no IPv6.
  absl::StatusOr<uint16_t> ListenEverywhere(uint16_t port, uint32_t listener = 0) {
    absl::StatusOr<uint16_t> listens = Listen(*IpAddress::Parse("::"), port, listener);
    if (listens.ok() || absl::IsAlreadyExists(listens.status())) return listens;
    return Listen(*IpAddress::Parse("0.0.0.0"), port, listener);
  }
  void ListenLocally(UniqueFd socket, uint32_t listener) { server_->ListenLocally(std::move(socket), listener); }

  // Once a port listens, only the server's thread may use the protocol.
  Protocol& protocol() { return *protocol_; }
  // See TcpServer::Poster.
  agent::Post Poster() const { return server_->Poster(); }
  // Any thread may call it. Calls `step` in the server's thread.
  void Post(std::function<void(Protocol&)> step) const {
    Poster()([protocol = protocol_.get(), step = std::move(step)] { step(*protocol); });
  }

 private:
  explicit TcpService(std::unique_ptr<Protocol> protocol) : protocol_(std::move(protocol)) {}

  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // last: its thread uses the protocol
};

}  // namespace muster::agent
