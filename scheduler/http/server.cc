#include "scheduler/http/server.h"

#include <algorithm>
#include <utility>

#include "scheduler/frontend/core_calls.h"
#include "scheduler/http/connection.h"

namespace muster::http {
namespace {

// The core lets principals take turns. All clients of this port are one principal, and Questions lets them take turns.
constexpr char kPrincipal[] = "the HTTP port";
constexpr absl::Duration kMaxCoreTime = absl::Seconds(3);  // how long a query waits for the core's answer
constexpr size_t kMaxInput = size_t{4} << 20;              // bytes of all incomplete requests together
constexpr size_t kPartOfOneClient = 2;                     // one client may have 1/2 of the connections

}  // namespace

class Server::Protocol final : public TcpProtocol {
 public:
  Protocol(Options& options, SiteContext context)
      : context_(context),
        takes_names_(options.tls != nullptr && options.tls->settings().needs_name()),
        questions_(
            {.ask = [this](scheduler::QueryRequest request,
                           std::function<void(scheduler::Answer)> done) { return Ask(std::move(request), done); },
             .post = [post = post_](std::function<void()> task) { (*post)(std::move(task)); },
             .why_full = context.services.why_full},
            context.services.clock),
        site_(std::move(context), HostRule(options.names), std::move(options.tokens), questions_,
              options.max_connections) {}

  // Sets the function that runs a task in the server's thread. Call it once, before the first client connects.
  void SetPost(std::function<void(std::function<void()>)> post) { *post_ = std::move(post); }

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "HTTP",
        .thread = "ms-http",
        .without_tls = "use http://, or set --tls_config",
        .with_tls = "",
    };
    return *words;
  }

  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                        TcpServerContext& context) override {
    site_.SetConnections(++open_);
    return std::make_unique<HttpConnection>(std::move(stream), client, site_, takes_names_, context);
  }
  void Closed(const TcpClient& /*client*/) override { site_.SetConnections(--open_); }
  size_t MaxInputBytes() const override { return kMaxInput; }
  void Tick() override { questions_.Tick(); }

 private:
  absl::Status Ask(scheduler::QueryRequest request, const std::function<void(scheduler::Answer)>& done) {
    return scheduler::AskCore(
        context_.services, kPrincipal, kMaxCoreTime,
        [&](scheduler::QueryId id) -> scheduler::Event {
          return scheduler::QueryReceived{id, std::move(request)};
        },
        done);
  }

  // Shared with pending answers of the core, which may come after this object is gone.
  const std::shared_ptr<std::function<void(std::function<void()>)>> post_ =
      std::make_shared<std::function<void(std::function<void()>)>>();
  const SiteContext context_;
  const bool takes_names_;
  Questions questions_;
  Site site_;
  size_t open_ = 0;
};

Server::Server() = default;
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Options options, SiteContext context) {
  TcpServerOptions tcp;
  tcp.max_connections = options.max_connections;
  tcp.max_of_each_client = std::max<size_t>(1, options.max_connections / kPartOfOneClient);
  tcp.counted = options.counted;
  tcp.tls = options.tls;
  tcp.takes_every_name = true;
  std::unique_ptr<Server> server(new Server);
  server->protocol_ = std::make_unique<Protocol>(options, context);
  absl::StatusOr<std::unique_ptr<TcpServer>> started =
      TcpServer::Start(std::move(tcp), *server->protocol_, context.services.clock);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  server->protocol_->SetPost(server->server_->Poster());
  return server;
}

absl::StatusOr<uint16_t> Server::Listen(const IpAddress& address, uint16_t port) {
  return server_->Listen(address, port, 0);
}

}  // namespace muster::http
