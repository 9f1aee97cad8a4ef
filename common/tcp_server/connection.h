// A client's connection to a TcpServer: how it is accepted, and what its protocol must report to the server. Owned by
// the server's thread.
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
  uint64_t connection = 0;  // unique in this server's life
  uint32_t listener = 0;    // which listening socket accepted it
  IpAddress address = *IpAddress::Parse("127.0.0.1");
  std::optional<PeerName> name;  // from its certificate; none without TLS, or with takes_every_name
};

class TcpConnection;

// State that all connections of a server share. For the server's thread only, except `post` and `counted`.
struct TcpServerContext {
  // Runs `take` with the connection in the server's thread, if the connection still exists, and then serves it again.
  // May be called by any thread.
  std::function<void(uint64_t connection, std::function<void(TcpConnection&)> take)> post;
  // Serves this connection again soon. Only the server's thread may call it.
  std::function<void(uint64_t connection)> touch;
  // Begins to connect, with TLS if the server has it; see TcpProtocol::Dialed. Returns the connection's number; 0:
  // there are no descriptors, or there is no route. Only the server's thread may call it.
  std::function<uint64_t(const SocketAddress& to)> dial;
  // Adds a connected, nonblocking local socket to those that are served; see TcpProtocol::Adopted. Returns the
  // connection's number; 0 if it could not be added. Only the server's thread may call it.
  std::function<uint64_t(UniqueFd socket)> adopt;
  std::shared_ptr<CountedLog> counted;
  size_t input_bytes = 0;  // received and not handled yet, of all connections; see TcpProtocol::MaxInputBytes
  MonotonicTime now;
};

// Handles the TLS handshake and the end of a connection. A subclass, made by the TcpProtocol, handles everything in
// between.
class TcpConnection {
 public:
  TcpConnection(Stream stream, TcpClient client, TcpServerContext& context);
  virtual ~TcpConnection() = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // Reads, handles and writes only a little, so that no client keeps the others waiting. Returns true if it can go on
  // without an event of the socket.
  virtual bool Serve() = 0;
  virtual bool wants_read() const = 0;
  virtual bool wants_write() const = 0;
  // True if its output is delayed for a moment. It must be served again in a millisecond.
  virtual bool is_delayed() const { return false; }
  // True if it waits for room, which no event of its socket reports. It must be served again soon.
  virtual bool is_held() const { return false; }
  // True if a request or an answer is in flight. Then the connection is not closed to make room for others.
  virtual bool has_work() const = 0;
  // Returns how readily it may be closed for a new connection if there is no room, even if it is busy. The connection
  // with the highest number is closed first; of equal ones, the oldest. 0: it may not be closed.
  virtual int yields() const { return 0; }
  // True if the client has ever sent a complete message.
  virtual bool has_spoken() const = 0;
  // Returns its part of TcpServerContext::input_bytes.
  virtual size_t input_bytes() const = 0;
  // Called at least four times a second. Ends what has taken too long.
  virtual void CheckTimes();
  // Called when the server ends. Writes as much of the answers in flight as the socket takes at once.
  virtual void FlushAtEnd() {}

  // Returns when the client last sent a complete message, or when it was accepted.
  MonotonicTime last_heard() const { return last_heard_; }
  const TcpClient& client() const { return client_; }
  int fd() const { return stream_.fd(); }

  // The state of the TLS handshake. The server distributes handshakes over its turns.
  enum class Opening { kUnknown, kHandshake, kOpen };
  Opening opening() const { return opening_; }
  // Decides by the first byte whether the client speaks TLS. `context` is null if TLS is not served here; `why_not`
  // then says why, and what to do.
  void Open(const std::shared_ptr<const TlsServerContext>& context, const std::string& why_not);
  // Called instead of Open for a connection that this side makes. `context` null: without TLS.
  void Dial(const std::shared_ptr<const TlsServerContext>& context);
  // Called instead of Open for an adopted connection.
  void Adopt() { opening_ = Opening::kOpen; }
  void ShakeHands();
  // Called when the trusted authorities or revocation lists have changed. Closes the connection if its certificate is
  // revoked.
  void CheckTrust(const TrustBase& trust);

  void Finish(const std::string& reason);
  // True if it must be removed. reason() is empty if the client simply left.
  bool is_finished() const { return is_finished_; }
  const std::string& reason() const { return reason_; }
  // Notes that the client has gone. Input that came before still counts.
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
