// The TCP server for MindSpore's frames: one thread, one epoll, any number of listening sockets. A client that stalls,
// floods, or doesn't read costs the others no more than a few milliseconds: each turn serves each ready client a few
// frames, and one TLS handshake.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/mindspore/connection.h"
#include "common/mindspore/socket_address.h"
#include "common/net/ip_address.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "common/tls/server/server_tls.h"

namespace muster::mindspore {

// Whose frames are taken outside of TLS.
enum class PlainFrom { kEverybody, kThisMachine, kNobody };

struct ServerOptions {
  size_t max_connections = 4096;
  size_t max_of_each_party = SIZE_MAX;  // see FairShare
  // Why this client of this machine's socket is not let in; empty: it is. No function: everybody is. Called by the
  // server's thread.
  std::function<std::string(const SocketAddress& client, const SocketAddress& own)> why_not;
  std::shared_ptr<CountedLog> counted;  // flushed by its owner; null: the server has its own
  std::shared_ptr<const TlsStore> tls;  // null: no TLS
  PlainFrom plain_from = PlainFrom::kEverybody;
};

class Server {
 public:
  // `cluster` and `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options, Cluster& cluster, const Clock& clock);
  // Answers what is in flight and closes everything.
  ~Server();

  // Any thread. `port` 0: the kernel chooses. `listener` becomes Peer::listener. Returns the port; an error names the
  // address.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port, uint32_t listener);
  // Any thread but the server's own: when this returns, these sockets are closed.
  void StopListening(uint32_t listener);

 private:
  using Task = std::function<void()>;
  struct Listener {
    UniqueFd fd;
    uint32_t listener = 0;
  };

  Server(ServerOptions options, Cluster& cluster, const Clock& clock);
  void Run();
  absl::Duration Patience() const;
  void Accept(Listener& listener);
  bool IsWelcome(const SocketAddress& from, const SocketAddress& own);
  bool MakeRoom(const IpAddress* only_of);  // a party, or null
  bool CloseIdle(const IpAddress* only_of);
  void Open(Connection& connection);
  void Touch(uint64_t id, uint32_t events);
  void ServeReady();
  void CutTheLargest();
  void ShakeHands();
  void Look(uint64_t id, Connection& connection);
  void Watch(uint64_t id, const Connection& connection);
  void WatchListeners(uint32_t events);
  void Remove(uint64_t id);
  void Tick();
  std::shared_ptr<const TlsState> NewTrust();
  DialectGuess& GuessOf(uint32_t listener, const IpAddress& address);

  const ServerOptions options_;
  Cluster& cluster_;
  const Clock& clock_;
  const std::shared_ptr<CountedLog> counted_;
  std::unique_ptr<ServerTls> tls_;  // null: no TLS
  Poller poller_;
  // Work for the thread. Outlives this while a store still holds it.
  const std::shared_ptr<Mailbox<Task>> mailbox_ = std::make_shared<Mailbox<Task>>([this] { poller_.Wake(); });

  // Of the thread.
  bool is_stopping_ = false;
  ConnectionContext context_;
  uint64_t last_id_ = 0;
  std::unordered_map<uint64_t, Listener> listeners_;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::unordered_map<uint64_t, uint32_t> watched_;  // the epoll events of each connection
  std::set<uint64_t> ready_;                        // have work that no socket tells of
  std::set<uint64_t> delayed_;                      // have answers that are kept back for a moment
  std::deque<uint64_t> handshakes_;                 // wait for their turn, …
  std::unordered_set<uint64_t> in_handshakes_;      // … each once
  std::map<std::pair<uint32_t, std::string>, std::unique_ptr<DialectGuess>> guesses_;
  uint64_t trust_generation_ = 0;            // that the open connections were checked against
  std::map<std::string, size_t> open_from_;  // connections of each address …
  std::map<std::string, size_t> open_of_;    // … and of each party
  MonotonicTime next_tick_;
  MonotonicTime last_flush_;
  MonotonicTime last_closing_;  // see CloseIdle
  bool are_listeners_paused_ = false;

  std::thread thread_;  // last: it uses the rest
};

}  // namespace muster::mindspore
