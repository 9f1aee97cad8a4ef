#include "worker_agent/gateway/exec/server.h"

#include <utility>

#include "common/net/net.h"
#include "worker_agent/gateway/exec/hub.h"
#include "worker_agent/gateway/exec/local_socket.h"

namespace muster::exec {
ExecServer::ExecServer() = default;
ExecServer::~ExecServer() = default;

absl::StatusOr<std::unique_ptr<ExecServer>> ExecServer::Start(std::shared_ptr<const TlsStore> tls, const Clock& clock,
                                                              size_t max_connections) {
  std::unique_ptr<ExecServer> made(new ExecServer());
  made->hub_ = std::make_unique<Hub>(tls != nullptr, clock);
  TcpServerOptions options;
  options.max_connections = max_connections;
  options.tls = std::move(tls);
  options.plain_from = options.tls != nullptr ? PlainFrom::kThisMachine : PlainFrom::kEverybody;
  options.why_not = [hub = made->hub_.get()](const SocketAddress& client, const SocketAddress& /*own*/) {
    return hub->WhyNotAddress(client.address);
  };
  absl::StatusOr<std::unique_ptr<TcpServer>> server = TcpServer::Start(std::move(options), *made->hub_, clock);
  if (!server.ok()) return server.status();
  made->server_ = *std::move(server);
  return made;
}

absl::StatusOr<uint16_t> ExecServer::Listen(uint16_t port) {
  absl::StatusOr<uint16_t> listens = server_->Listen(*IpAddress::Parse("::"), port, Hub::kForAgents);
  if (listens.ok() || absl::IsAlreadyExists(listens.status())) return listens;
  return server_->Listen(*IpAddress::Parse("0.0.0.0"), port, Hub::kForAgents);  // the kernel has no IPv6
}

absl::Status ExecServer::ListenForOwn(const std::string& path) {
  absl::StatusOr<UniqueFd> socket = ListenLocally(path);
  if (!socket.ok()) return socket.status();
  server_->ListenLocally(*std::move(socket), Hub::kForOwn);
  return absl::OkStatus();
}

void ExecServer::BeginRound(Round round) {
  Post([hub = hub_.get(), round = std::move(round)]() mutable { hub->BeginRound(std::move(round)); });
}

void ExecServer::EndRound() {
  Post([hub = hub_.get()] { hub->EndRound(); });
}

void ExecServer::TellTo(Teller teller) {
  Post([hub = hub_.get(), teller = std::move(teller)]() mutable { hub->TellTo(std::move(teller)); });
}

void ExecServer::SetHolder(UniqueFd control) {
  Post([hub = hub_.get(), shared = std::make_shared<UniqueFd>(std::move(control))] {
    hub->SetHolder(std::move(*shared));
  });
}

std::function<void()> ExecServer::HolderEnder() const {
  return [poster = server_->Poster(), hub = hub_.get()] { poster([hub] { hub->EndHolder(); }); };
}

}  // namespace muster::exec
