#include "worker_agent/gateway/torch_store/server.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "worker_agent/gateway/torch_store/connection.h"

namespace muster::torch_store {
namespace {

class StoreProtocol final : public TcpProtocol {
 public:
  explicit StoreProtocol(const Limits& limits)
      : shared_{limits, Store(limits, [this](uint64_t client) { open_.at(client)->StopWaiting(); })} {}

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "PyTorch's store",
        .thread = "ms-torch-store",
        .without_tls = "PyTorch's store speaks none; see what connects to MASTER_PORT",
        .with_tls = "",
    };
    return *words;
  }

  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    auto connection = std::make_unique<Connection>(std::move(stream), client, shared_, context);
    open_.emplace(client.connection, connection.get());
    return connection;
  }

  void Closed(const TcpClient& client) override {
    shared_.store.Forget(client.connection);
    open_.erase(client.connection);
  }

  size_t MaxInputBytes() const override { return shared_.limits.input_bytes; }

 private:
  Shared shared_;  // outlives the connections, which the server owns
  std::unordered_map<uint64_t, Connection*> open_;
};

}  // namespace

Server::Server(std::unique_ptr<TcpProtocol> protocol) : protocol_(std::move(protocol)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(TcpServerOptions tcp, const Limits& limits, const Clock& clock) {
  tcp.detects_dead_peers = false;  // an idle client must outlive a cut of the network, as with PyTorch's own server
  std::unique_ptr<Server> server(new Server(std::make_unique<StoreProtocol>(limits)));
  absl::StatusOr<std::unique_ptr<TcpServer>> started = TcpServer::Start(std::move(tcp), *server->protocol_, clock);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  return server;
}

}  // namespace muster::torch_store
