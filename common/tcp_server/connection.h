// One client of a TcpServer: how it is let in, and what its protocol tells the server. Owned by the server's thread.
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
  std::optional<PeerName> name;  // of its certificate; none without TLS, or where names don't count
};

class TcpConnection;

// What the connections of one server share. All of the server's thread, but for `post` and `counted`.
struct TcpServerContext {
  // Any thread: runs `take` with the connection, in the server's thread, if it still is there; it is served again then.
  std::function<void(uint64_t connection, std::function<void(TcpConnection&)> take)> post;
  // The server's thread: serves this connection again soon.
  std::function<void(uint64_t connection)> touch;
  // The server's thread: begins to connect, with TLS where the server has it; see TcpProtocol::Dialed. Returns the
  // connection's number; 0: there are no descriptors, or no way there.
  std::function<uint64_t(const SocketAddress& to)> dial;
  // The server's thread: serves a connected, nonblocking local socket as well; see TcpProtocol::Adopted. Returns the
  // connection's number; 0: it can't.
  std::function<uint64_t(UniqueFd socket)> adopt;
  std::shared_ptr<CountedLog> counted;
  size_t input_bytes = 0;  // of all: what has come and can't be done with yet; see TcpProtocol::MaxInputBytes
  MonotonicTime now;
};

// The TLS handshake and the end are here; what is said in between is a protocol's (TcpProtocol).
class TcpConnection {
 public:
  TcpConnection(Stream stream, TcpClient client, TcpServerContext& context);
  virtual ~TcpConnection() = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // Reads, handles and writes, a little, so that no client keeps the others waiting. True when there is more to do
  // without waiting for the socket.
  virtual bool Serve() = 0;
  virtual bool wants_read() const = 0;
  virtual bool wants_write() const = 0;
  // What it has to write is kept back for a moment: serve it again in a millisecond.
  virtual bool is_delayed() const { return false; }
  // It waits for room that no socket tells of: serve it again soon.
  virtual bool is_held() const { return false; }
  // Something is in flight: it is not closed to make room for others.
  virtual bool has_work() const = 0;
  // Whether it goes for a newcomer where there is no room, busy or not: the greatest goes first, and of equals the
  // oldest. 0: it stays.
  virtual int yields() const { return 0; }
  // It has said a whole thing, ever.
  virtual bool has_spoken() const = 0;
  // Its part of TcpServerContext::input_bytes.
  virtual size_t input_bytes() const = 0;
  // At least four times a second: what took too long is given up.
  virtual void CheckTimes();
  // The last chance of what is in flight: what the socket takes at once.
  virtual void FlushAtEnd() {}

  // When it last said a whole thing, or was accepted.
  MonotonicTime last_heard() const { return last_heard_; }
  const TcpClient& client() const { return client_; }
  int fd() const { return stream_.fd(); }

  // The TLS handshake, in steps that the server spreads.
  enum class Opening { kUnknown, kHandshake, kOpen };
  Opening opening() const { return opening_; }
  // Looks at the first byte. `context` null: no TLS is spoken here, and `why_not` says why, and what to do.
  void Open(const std::shared_ptr<const TlsServerContext>& context, const std::string& why_not);
  // In its place, for one that this side makes. `context` null: without TLS.
  void Dial(const std::shared_ptr<const TlsServerContext>& context);
  // In its place, for one that was adopted.
  void Adopt() { opening_ = Opening::kOpen; }
  void ShakeHands();
  // The authorities or their lists have changed: who is revoked is cut off.
  void CheckTrust(const TrustBase& trust);

  void Finish(const std::string& reason);
  // To be removed; the reason is empty when the client simply went.
  bool is_finished() const { return is_finished_; }
  const std::string& reason() const { return reason_; }
  // The client is gone; what it said before still counts.
  void NoteEnd() { has_ended_ = true; }

 protected:
  // The TLS handshake is done.
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
