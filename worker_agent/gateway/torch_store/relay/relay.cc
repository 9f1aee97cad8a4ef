#include "worker_agent/gateway/torch_store/relay/relay.h"

#include <utility>

#include "worker_agent/gateway/torch_store/relay/uplink.h"

namespace muster::torch_store {
namespace {

class RelayProtocol final : public TcpProtocol {
 public:
  explicit RelayProtocol(RelayOptions options) : uplink_(std::move(options)) {}

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "PyTorch's store, by relay,",
        .thread = "ms-torch-relay",
        .without_tls = "PyTorch's store speaks none; see what connects to MASTER_PORT",
        .with_tls = "",
    };
    return *words;
  }
  void Begin(TcpServerContext& context) override { uplink_.Begin(context); }
  void End() override { uplink_.End(); }
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<LocalClient>(std::move(stream), client, uplink_, context);
  }
  std::unique_ptr<TcpConnection> Dialed(Stream stream, const TcpClient& client, TcpServerContext& context) override {
    return std::make_unique<StoreLink>(std::move(stream), client, uplink_, context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return SIZE_MAX; }  // the windows bound it
  void Tick() override { uplink_.DialIfDue(); }
  bool HasTimers() const override { return true; }

 private:
  Uplink uplink_;  // outlives the connections, which the server owns
};

}  // namespace

Relay::Relay(std::unique_ptr<TcpProtocol> protocol) : protocol_(std::move(protocol)) {}
Relay::~Relay() = default;

absl::StatusOr<std::unique_ptr<Relay>> Relay::Start(RelayOptions options, const Clock& clock) {
  TcpServerOptions tcp;
  tcp.max_connections = options.max_connections + 1;
  tcp.tls = options.tls;
  tcp.takes_tls = false;
  tcp.plain_from = PlainFrom::kThisMachine;
  tcp.detects_dead_peers = false;
  std::unique_ptr<Relay> relay(new Relay(std::make_unique<RelayProtocol>(std::move(options))));
  absl::StatusOr<std::unique_ptr<TcpServer>> started = TcpServer::Start(std::move(tcp), *relay->protocol_, clock);
  if (!started.ok()) return started.status();
  relay->server_ = *std::move(started);
  return relay;
}

absl::StatusOr<uint16_t> Relay::Listen(uint16_t port) {
  return server_->Listen(*IpAddress::Parse("127.0.0.1"), port, 0);
}

}  // namespace muster::torch_store
