#include "worker_agent/gateway/torch_store/server.h"

#include <string>
#include <utility>

#include "worker_agent/gateway/torch_store/connection.h"

namespace muster::torch_store {
namespace {

class StoreProtocol final : public TcpProtocol {
 public:
  StoreProtocol(const Limits& limits, LinksOptions links)
      : shared_{limits, Store(limits, [this](uint64_t client) { shared_.clients.at(client)->StopWaiting(); })} {
    if (links.why_not) links_ = std::make_unique<Links>(std::move(links), shared_);
  }

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "PyTorch's store",
        .thread = "ms-torch-store",
        .without_tls = "only agents do, with --torch_store_relay; see what connects to MASTER_PORT",
        .with_tls = "PyTorch's processes reach the store through their own machine's agent (--torch_store_relay)",
    };
    return *words;
  }

  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<Connection>(std::move(stream), client, shared_, links_.get(), context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return shared_.limits.input_bytes; }
  void FreeInput() override {
    if (links_ != nullptr) links_->FreeInput(*context_);
  }
  void Begin(TcpServerContext& context) override { context_ = &context; }
  void Tick() override {
    if (links_ != nullptr) links_->CheckTimes(*context_);
  }
  bool HasTimers() const override { return links_ != nullptr && !links_->is_empty(); }
  void End() override {
    if (links_ != nullptr) links_->EndAll();
  }

 private:
  Shared shared_;                 // outlives the connections, which the server owns
  std::unique_ptr<Links> links_;  // null: none are served
  TcpServerContext* context_ = nullptr;
};

}  // namespace

Server::Server(std::unique_ptr<TcpProtocol> protocol) : protocol_(std::move(protocol)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(TcpServerOptions tcp, const Limits& limits, const Clock& clock,
                                                      LinksOptions links) {
  tcp.detects_dead_peers = false;  // an idle client must outlive a cut of the network, as with PyTorch's own server
  std::unique_ptr<Server> server(new Server(std::make_unique<StoreProtocol>(limits, std::move(links))));
  absl::StatusOr<std::unique_ptr<TcpServer>> started = TcpServer::Start(std::move(tcp), *server->protocol_, clock);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  return server;
}

}  // namespace muster::torch_store
