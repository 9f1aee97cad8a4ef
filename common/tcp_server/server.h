// The TCP server for the ports of other systems' protocols: one thread, one epoll, any number of listening sockets. A
// client that stalls, floods, or doesn't read costs the other clients no more than a few milliseconds: each turn of the
// loop serves every ready client a little, and makes one TLS handshake. TcpProtocol handles the bytes.
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

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "common/tcp_server/protocol.h"
#include "common/tcp_server/socket_address.h"
#include "common/tls/server/server_tls.h"

namespace muster {

// The clients that may connect without TLS.
enum class PlainFrom { kAll, kThisMachine, kNone };

struct TcpServerOptions {
  size_t max_connections = 4096;         // the same number again is for clients of ListenLocally
  size_t max_of_each_client = SIZE_MAX;  // for the meaning of "client" see FairShare
  // Returns why this client is refused; empty: it is accepted. If there is no function, all clients are accepted.
  // Called by the server's thread.
  std::function<std::string(const SocketAddress& client, const SocketAddress& own)> why_not;
  std::shared_ptr<CountedLog> counted;  // its owner calls Flush; null: the server has its own
  std::shared_ptr<const TlsStore> tls;  // null: no TLS
  PlainFrom plain_from = PlainFrom::kAll;
  bool takes_tls = true;           // false: only connections that this side makes use TLS
  bool takes_every_name = false;   // with TLS: any name is good; a client without a certificate has none
  bool detects_dead_peers = true;  // see SetDeadPeerDetection
};

class TcpServer {
 public:
  // `protocol` and `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<TcpServer>> Start(TcpServerOptions options, TcpProtocol& protocol,
                                                          const Clock& clock);
  // Answers the requests in flight and closes everything.
  ~TcpServer();

  // Listens on a port. `port` 0: the kernel chooses one. `listener` becomes TcpClient::listener. Returns the port; the
  // error names the address. May be called by any thread.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port, uint32_t listener);
  // The same for a Unix socket that already listens. Its clients count as 127.0.0.1, and never speak TLS.
  void ListenLocally(UniqueFd socket, uint32_t listener);
  // Returns a function that runs `task` in the server's thread. Any thread may call it, even after the server's end;
  // then it does nothing.
  std::function<void(std::function<void()> task)> Poster() const {
    return [mailbox = mailbox_](std::function<void()> task) { mailbox->Push(std::move(task)); };
  }
  // Closes the sockets of this `listener` before it returns. May be called by any thread except the server's own.
  void StopListening(uint32_t listener);

 private:
  using Task = std::function<void()>;
  struct Listener {
    UniqueFd fd;
    uint32_t listener = 0;
    bool is_local = false;
  };

  TcpServer(TcpServerOptions options, TcpProtocol& protocol, const Clock& clock);
  void Run();
  absl::Duration Patience() const;
  void Accept(Listener& listener);
  uint64_t Dial(const SocketAddress& to);
  uint64_t Adopt(UniqueFd socket);
  void Count(const std::string& what, const std::string& text);
  bool IsWelcome(const SocketAddress& from, const SocketAddress& own, bool is_local);
  bool MakeRoom(const IpAddress* only_of);  // `only_of`: close only connections of this client; null: of any
  bool CloseYielding(const IpAddress* only_of);
  bool CloseIdle(const IpAddress* only_of);
  void Open(TcpConnection& connection);
  void Touch(uint64_t id, uint32_t events);
  void ServeReady();
  void CutTheLargest();
  void ShakeHands();
  void Look(uint64_t id, TcpConnection& connection);
  void Watch(uint64_t id, const TcpConnection& connection);
  void WatchListeners(uint32_t events);
  void Remove(uint64_t id);
  void Tick();
  std::shared_ptr<const TlsState> NewTrust();

  const TcpServerOptions options_;
  TcpProtocol& protocol_;
  const Clock& clock_;
  const std::shared_ptr<CountedLog> counted_;
  std::unique_ptr<ServerTls> tls_;  // null: no TLS
  Poller poller_;
  // Tasks for the thread. A Poster's function may keep it alive after this object's end.
  const std::shared_ptr<Mailbox<Task>> mailbox_ = std::make_shared<Mailbox<Task>>([this] { poller_.Wake(); });

  // Used only by the thread.
  bool is_stopping_ = false;
  TcpServerContext context_;
  uint64_t last_id_ = 0;
  std::unordered_map<uint64_t, Listener> listeners_;
  std::unordered_map<uint64_t, std::unique_ptr<TcpConnection>> connections_;
  std::unordered_map<uint64_t, uint32_t> watched_;  // the epoll events that are watched for each connection
  std::set<uint64_t> ready_;                        // connections that can go on without an event of the socket
  std::set<uint64_t> delayed_;                      // connections with an answer that is delayed for a moment
  std::deque<uint64_t> handshakes_;                 // connections that wait for a turn of their handshake
  std::unordered_set<uint64_t> in_handshakes_;      // the ids in handshakes_: each waits only once
  uint64_t trust_generation_ = 0;                   // the trust with which the open connections were checked last
  std::map<std::string, size_t> open_of_;           // number of open connections of each client
  MonotonicTime next_tick_;
  MonotonicTime last_flush_;
  MonotonicTime last_closing_;  // see CloseIdle
  bool are_listeners_paused_ = false;

  std::thread thread_;  // declared last: it uses the rest
};

}  // namespace muster
