#include "worker_agent/gateway/exec/server.h"

#include <utility>

#include "worker_agent/gateway/exec/hub.h"
#include "worker_agent/gateway/exec/local_socket.h"

namespace muster::exec {

ExecServer::ExecServer(std::unique_ptr<agent::TcpService<Hub>> service) : service_(std::move(service)) {}
ExecServer::~ExecServer() = default;

absl::StatusOr<std::unique_ptr<ExecServer>> ExecServer::Start(std::shared_ptr<const TlsStore> tls, const Clock& clock,
                                                              size_t max_connections) {
  auto hub = std::make_unique<Hub>(tls != nullptr, clock);
  TcpServerOptions options;
  options.max_connections = max_connections;
  options.tls = std::move(tls);
  options.plain_from = options.tls != nullptr ? PlainFrom::kThisMachine : PlainFrom::kEverybody;
  options.why_not = [hub = hub.get()](const SocketAddress& client, const SocketAddress& /*own*/) {
    return hub->WhyNotAddress(client.address);
  };
  auto service = agent::TcpService<Hub>::Start(std::move(options), std::move(hub), clock);
  if (!service.ok()) return service.status();
  return std::unique_ptr<ExecServer>(new ExecServer(*std::move(service)));
}

absl::StatusOr<uint16_t> ExecServer::Listen(uint16_t port) { return service_->ListenEverywhere(port, Hub::kForAgents); }

absl::Status ExecServer::ListenForOwn(const std::string& path) {
  absl::StatusOr<UniqueFd> socket = ListenLocally(path);
  if (!socket.ok()) return socket.status();
  service_->ListenLocally(*std::move(socket), Hub::kForOwn);
  return absl::OkStatus();
}

void ExecServer::BeginRound(Round round) {
  service_->Post([round = std::move(round)](Hub& hub) { hub.BeginRound(round); });
}

void ExecServer::EndRound() {
  service_->Post([](Hub& hub) { hub.EndRound(); });
}

void ExecServer::TellTo(Teller teller) {
  service_->Post([teller = std::move(teller)](Hub& hub) { hub.TellTo(teller); });
}

void ExecServer::SetHolder(UniqueFd control) {
  service_->Post(
      [shared = std::make_shared<UniqueFd>(std::move(control))](Hub& hub) { hub.SetHolder(std::move(*shared)); });
}

std::function<void()> ExecServer::HolderEnder() const {
  return [post = service_->Poster(), hub = &service_->protocol()] { post([hub] { hub->EndHolder(); }); };
}

}  // namespace muster::exec
