#include "worker_agent/gateway/script_store/server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/socket_owner.h"
#include "worker_agent/gateway/script_store/connection.h"

namespace muster::script_store {
namespace {

constexpr size_t kConnectionsEach = 64;             // of a process: one for each of its threads that ask
constexpr size_t kMaxHeldBytes = size_t{64} << 20;  // of requests and answers, of all

}  // namespace

class Server::Protocol final : public TcpProtocol {
 public:
  Protocol(JobStore& store, const Clock& clock, const absl::StatusOr<agent::TaskLayout>& layout)
      : operations_(
            store, clock, [poster = poster_](std::function<void()> step) { (*poster)(std::move(step)); }, layout) {
    round_.operations = &operations_;
  }

  // Before the first connection.
  void SetPoster(agent::Post poster) { *poster_ = std::move(poster); }

  void EndRound(const std::string& why) {
    if (round_.end) return;
    round_.end = ErrorLine(absl::FailedPreconditionError(why.empty() ? "the round is over" : why));
    for (Connection* connection : round_.connections) connection->TellEnd();
  }

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "the job's store for scripts",
        .thread = "ms-store",
        .without_tls = "which is not spoken there; see what connects to MUSTER_STORE",
        .with_tls = "",
    };
    return *words;
  }
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    return std::make_unique<Connection>(std::move(stream), client, round_, context);
  }
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return kMaxHeldBytes; }
  void Tick() override { operations_.Tick(); }
  bool HasTimers() const override { return operations_.IsBusy(); }

 private:
  const std::shared_ptr<agent::Post> poster_ = std::make_shared<agent::Post>();  // the store keeps it for a while
  Operations operations_;
  Round round_;
};

Server::Server(std::unique_ptr<Protocol> protocol) : protocol_(std::move(protocol)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(uint32_t slots, JobStore& store, const Clock& clock,
                                                      const absl::StatusOr<agent::TaskLayout>& layout) {
  TcpServerOptions tcp;
  tcp.max_connections = kConnectionsEach * slots;
  tcp.why_not = agent::WhyNotOfThisUser;
  std::unique_ptr<Server> server(new Server(std::make_unique<Protocol>(store, clock, layout)));
  absl::StatusOr<std::unique_ptr<TcpServer>> started = TcpServer::Start(std::move(tcp), *server->protocol_, clock);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  server->protocol_->SetPoster(server->server_->Poster());
  const absl::StatusOr<uint16_t> port = server->server_->Listen(*IpAddress::Parse("127.0.0.1"), 0, 0);
  if (!port.ok()) return port.status();
  server->port_ = *port;
  return server;
}

void Server::End(const std::string& why) {
  server_->Poster()([protocol = protocol_.get(), why] { protocol->EndRound(why); });
}

}  // namespace muster::script_store
