#include "common/mindspore/server.h"

#include <map>
#include <string>
#include <utility>

#include "common/base/limits.h"
#include "common/mindspore/connection.h"
#include "common/mindspore/dialect.h"

namespace muster::mindspore {
namespace {

constexpr size_t kMaxGuesses = 4096;

class FrameProtocol final : public TcpProtocol {
 public:
  explicit FrameProtocol(Cluster& cluster) : cluster_(cluster) {}

  const Words& words() const override {
    static const auto* const words = new Words{
        .name = "MindSpore",
        .thread = "ms-mindspore",
        .without_tls = "set it, or leave enable_ssl out of the script",
        .with_tls = "let its script call set_ps_context(enable_ssl=True, ...), or start it with ms-worker",
    };
    return *words;
  }

  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& own_address,
                                        TcpServerContext& context) override {
    ++open_from_[client.address.bytes()];
    cluster_.ConnectionOpened(client);
    return std::make_unique<FrameConnection>(std::move(stream), client, own_address, GuessOf(client), cluster_,
                                             context);
  }

  void Closed(const TcpClient& client) override {
    const auto same = open_from_.find(client.address.bytes());
    if (same != open_from_.end() && --same->second == 0) {
      open_from_.erase(same);
      for (auto& [origin, guess] : guesses_) {
        if (origin.second == client.address.bytes()) guess->Doubt();
      }
    }
    cluster_.ConnectionClosed(client);
  }

  size_t MaxInputBytes() const override { return kMaxMindSporeInputBytes; }
  // Connections of registered nodes. (Old clients send nothing on their second connection until the cluster is
  // complete. If the server closes it, they connect again.)
  std::set<uint64_t> Needed() override { return cluster_.Needed(); }
  void Tick() override { cluster_.Tick(); }
  bool HasTimers() const override { return cluster_.HasTimers(); }

 private:
  // Returns the guess for the client's listener and address. All processes at one address count as using the same
  // dialect.
  DialectGuess& GuessOf(const TcpClient& client) {
    const auto key = std::make_pair(client.listener, client.address.bytes());
    const auto found = guesses_.find(key);
    if (found != guesses_.end()) return *found->second;
    static DialectGuess shared;
    if (guesses_.size() >= kMaxGuesses) {
      std::erase_if(guesses_, [&](const auto& guess) { return !open_from_.contains(guess.first.second); });
    }
    if (guesses_.size() >= kMaxGuesses) return shared;
    return *guesses_.emplace(key, std::make_unique<DialectGuess>()).first->second;
  }

  Cluster& cluster_;
  std::map<std::pair<uint32_t, std::string>, std::unique_ptr<DialectGuess>> guesses_;
  std::map<std::string, size_t> open_from_;  // how many connections each address has
};

}  // namespace

Server::Server(std::unique_ptr<TcpProtocol> protocol) : protocol_(std::move(protocol)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(TcpServerOptions options, Cluster& cluster, const Clock& clock) {
  std::unique_ptr<Server> server(new Server(std::make_unique<FrameProtocol>(cluster)));
  absl::StatusOr<std::unique_ptr<TcpServer>> started = TcpServer::Start(std::move(options), *server->protocol_, clock);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  return server;
}

}  // namespace muster::mindspore
