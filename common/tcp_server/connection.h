// One client of a TcpServer: its acceptance, and what its protocol reports to the server. Owned by the server's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"
#include "common/sys/log.h"
#include "common/tcp_server/socket_address.h"
#include "common/tls/peer/peer_name.h"
#include "common/tls/server/stream.h"

namespace muster {

struct TcpClient {
  uint64_t connection = 0;  // never used twice
  uint32_t listener = 0;    // which listening socket
  IpAddress address = *IpAddress::Parse("127.0.0.1");
  std::optional<PeerName> name;  // from its certificate; none without TLS, or if names don't count
};

class TcpConnection;

// State that the connections of one server share. For the server's thread only, except `post` and `counted`.
struct TcpServerContext {
  // Any thread: runs `take` with the connection, in the server's thread, if it still exists; then serves it again.
  std::function<void(uint64_t connection, std::function<void(TcpConnection&)> take)> post;
  // The server's thread: serves this connection again soon.
  std::function<void(uint64_t connection)> touch;
  // The server's thread: begins to connect, with TLS if the server has it; see TcpProtocol::Dialed. Returns the
  // connection's number; 0: there are no descriptors, or no route.
  std::function<uint64_t(const SocketAddress& to)> dial;
  // The server's thread: serves a connected, nonblocking local socket as well; see TcpProtocol::Adopted. Returns the
  // connection's number; 0: it can't.
  std::function<uint64_t(UniqueFd socket)> adopt;
  std::shared_ptr<CountedLog> counted;
  size_t input_bytes = 0;  // of all connections, received and not handled yet; see TcpProtocol::MaxInputBytes
  MonotonicTime now;
};

// Handles the TLS handshake and the end of a connection; everything in between is a TcpProtocol's.
class TcpConnection {
 public:
  TcpConnection(Stream stream, TcpClient client, TcpServerContext& context);
  virtual ~TcpConnection() = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // Reads, handles and writes, a little, so that no client keeps the others waiting. Returns true if there is more to
  // do without waiting for the socket.
  virtual bool Serve() = 0;
  virtual bool wants_read() const = 0;
  virtual bool wants_write() const = 0;
  // True if its output is held back for a moment: serve it again in a millisecond.
  virtual bool is_delayed() const { return false; }
  // True if it waits for room, which no socket event reports: serve it again soon.
  virtual bool is_held() const { return false; }
  // True if something is in flight: then it is not closed to make room for others.
  virtual bool has_work() const = 0;
  // Returns how readily it is closed for a new connection if there is no room, busy or not: the greatest first, and of
  // equals the oldest. 0: never.
  virtual int yields() const { return 0; }
  // True if it has ever sent a whole message.
  virtual bool has_spoken() const = 0;
  // Returns its part of TcpServerContext::input_bytes.
  virtual size_t input_bytes() const = 0;
  // Called at least four times a second: gives up what took too long.
  virtual void CheckTimes();
  // Called at the end: writes as much of what is in flight as the socket takes at once.
  virtual void FlushAtEnd() {}

  // Returns when it last sent a whole message, or was accepted.
  MonotonicTime last_heard() const { return last_heard_; }
  const TcpClient& client() const { return client_; }
  int fd() const { return stream_.fd(); }

  // The TLS handshake, in steps that the server spreads.
  enum class Opening { kUnknown, kHandshake, kOpen };
  Opening opening() const { return opening_; }
  // Looks at the first byte. `context` null: no TLS is spoken here, and `why_not` says why, and what to do.
  void Open(const std::shared_ptr<const TlsServerContext>& context, const std::string& why_not);
  // Called instead of Open for a connection that this side makes. `context` null: without TLS.
  void Dial(const std::shared_ptr<const TlsServerContext>& context);
  // Called instead of Open for an adopted connection.
  void Adopt() { opening_ = Opening::kOpen; }
  void ShakeHands();
  // Called when the authorities or their lists have changed: closes the connection if its certificate is revoked.
  void CheckTrust(const TrustBase& trust);

  void Finish(const std::string& reason);
  // True if it is to be removed; the reason is empty if the client simply left.
  bool is_finished() const { return is_finished_; }
  const std::string& reason() const { return reason_; }
  // Notes that the client is gone; its earlier input still counts.
  void NoteEnd() { has_ended_ = true; }

 protected:
  // Called when the TLS handshake is done.
  virtual void HasOpened() {}

  Stream stream_;
  TcpClient client_;
  TcpServerContext& context_;
  MonotonicTime last_heard_;
  Opening opening_ = Opening::kUnknown;
  bool has_ended_ = false;  // nothing more comes from the client
  bool is_finished_ = false;

 private:
  MonotonicTime tls_begun_at_;
  std::string reason_;
};

}  // namespace muster
