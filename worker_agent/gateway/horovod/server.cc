#include "worker_agent/gateway/horovod/server.h"

#include <string>
#include <utility>

#include "worker_agent/gateway/chassis/socket_owner.h"
#include "worker_agent/gateway/horovod/connection.h"

namespace muster::horovod {
namespace {

constexpr size_t kConnectionsEach = 16;  // of a slot; a process has one at a time
constexpr size_t kMaxInputBytes = size_t{16} << 20;

class RendezvousProtocol final : public TcpProtocol {
 public:
  RendezvousProtocol(JobStore& store, const Clock& clock) : rendezvous_(store, clock) {}

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "Horovod's rendezvous",
        .thread = "ms-horovod",
        .without_tls = "Horovod speaks none; see what connects to HOROVOD_GLOO_RENDEZVOUS_PORT",
        .with_tls = "",
    };
    return *words;
  }
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<Connection>(std::move(stream), client, rendezvous_, context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return kMaxInputBytes; }

 private:
  Rendezvous rendezvous_;  // of the server's thread
};

}  // namespace

Server::Server(std::unique_ptr<TcpProtocol> protocol) : protocol_(std::move(protocol)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(uint32_t slots, JobStore& store, const Clock& clock) {
  TcpServerOptions tcp;
  tcp.max_connections = kConnectionsEach * slots;
  tcp.why_not = agent::WhyNotOfThisUser;
  std::unique_ptr<Server> server(new Server(std::make_unique<RendezvousProtocol>(store, clock)));
  absl::StatusOr<std::unique_ptr<TcpServer>> started = TcpServer::Start(std::move(tcp), *server->protocol_, clock);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  return server;
}

absl::StatusOr<uint16_t> Server::Listen(uint32_t slot) {
  return server_->Listen(*IpAddress::Parse("127.0.0.1"), 0, slot);
}

}  // namespace muster::horovod
