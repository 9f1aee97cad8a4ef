#include "worker_agent/gateway/exec/server.h"

#include <utility>

#include "worker_agent/gateway/exec/local_socket.h"
#include "worker_agent/gateway/exec/protocol.h"

namespace muster::exec {

ExecServer::ExecServer(std::unique_ptr<agent::TcpService<ExecProtocol>> service) : service_(std::move(service)) {}
ExecServer::~ExecServer() = default;

absl::StatusOr<std::unique_ptr<ExecServer>> ExecServer::Start(std::shared_ptr<const TlsStore> tls, const Clock& clock,
                                                              size_t max_connections) {
  auto protocol = std::make_unique<ExecProtocol>(tls != nullptr, clock);
  TcpServerOptions options;
  options.max_connections = max_connections;
  options.tls = std::move(tls);
  options.plain_from = options.tls != nullptr ? PlainFrom::kThisMachine : PlainFrom::kAll;
  options.why_not = [protocol = protocol.get()](const SocketAddress& client, const SocketAddress& /*own*/) {
    return protocol->WhyNotAddress(client.address);
  };
  auto service = agent::TcpService<ExecProtocol>::Start(std::move(options), std::move(protocol), clock);
  if (!service.ok()) return service.status();
  return std::unique_ptr<ExecServer>(new ExecServer(*std::move(service)));
}

absl::StatusOr<uint16_t> ExecServer::Listen(uint16_t port) {
  return service_->ListenEverywhere(port, ExecProtocol::kForAgents);
}

absl::Status ExecServer::ListenForOwn(const std::string& path) {
  absl::StatusOr<UniqueFd> socket = ListenLocally(path);
  if (!socket.ok()) return socket.status();
  service_->ListenLocally(*std::move(socket), ExecProtocol::kForOwn);
  return absl::OkStatus();
}

void ExecServer::BeginRound(Round round) {
  service_->Post([round = std::move(round)](ExecProtocol& protocol) { protocol.BeginRound(round); });
}

void ExecServer::EndRound() {
  service_->Post([](ExecProtocol& protocol) { protocol.EndRound(); });
}

void ExecServer::ReportTo(CommandSink sink) {
  service_->Post([sink = std::move(sink)](ExecProtocol& protocol) { protocol.ReportTo(sink); });
}

void ExecServer::SetHolder(UniqueFd control) {
  service_->Post([shared = std::make_shared<UniqueFd>(std::move(control))](ExecProtocol& protocol) {
    protocol.SetHolder(std::move(*shared));
  });
}

std::function<void()> ExecServer::HolderEnder() const {
  return [post = service_->Poster(), protocol = &service_->protocol()] { post([protocol] { protocol->EndHolder(); }); };
}

}  // namespace muster::exec
