// One connection that the relay carries: first a handshake if it is TLS, then bytes in both directions. Owned by one
// thread.
//
//   event                                effect on the connection
//   the handshake fails                  it ends: kRefused, or kEnded if the client went away by itself
//   the client ends its side             gRPC sees the end; what gRPC still sends goes out
//   the client is too fast               its input is read more slowly (FrameGuard)
//   the client doesn't read              its input is not read until it does
//   gRPC closes its end                  gRPC's last bytes go out, then the connection ends; it is cut if the client
//                                        takes none of them for kLinger
//   the client breaks a limit            it is closed at once: kBreach; gRPC sees the end
//   the client's connection breaks       gRPC sees the end
//
// A connection has ended only when gRPC has closed its end of the pair, or has not closed it within kLinger. Until
// then it counts against the client's share of connections, because gRPC still works on the client's calls. Otherwise
// a client that connects again and again could build up a backlog in gRPC.
//
// epoll reports changes only (EPOLLET): a socket counts as readable or writable until a call finds that it is not. The
// client's socket is watched for both all the time. The pair's end would report "writable" each time gRPC reads
// something, so epoll is asked for that event only while bytes wait to be written there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/net/http2/frame_guard.h"
#include "common/tls/server/stream.h"

namespace muster {

// The reason why a connection has ended.
struct RelayEnd {
  enum class Kind {
    kEnded,    // the client or gRPC has closed, or the connection broke
    kRefused,  // the handshake failed; `fault` says why
    kSlow,     // the handshake took too long
    kBreach,   // the client broke a limit of FrameGuard; `what` is the Breach's kind
    kNoRoom,   // there was no memory or no descriptor
  };
  Kind kind = Kind::kEnded;
  TlsFault fault = TlsFault::kNone;
  const char* what = "";
  std::string text;  // for people; empty: nothing to report
};

class RelayedConnection {
 public:
  static constexpr size_t kPieceBytes = 64 * 1024;  // most bytes of one read
  static constexpr absl::Duration kLinger = absl::Seconds(10);

  // `client` is a connected, nonblocking socket. `tls` is null for a plain connection.
  RelayedConnection(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls, MonotonicTime now);

  uint64_t id() const { return id_; }
  int client_fd() const { return client_.fd(); }
  int inner_fd() const { return inner_.fd(); }
  bool is_open() const { return inner_.fd() >= 0; }  // has the relay's end of its pair
  bool has_tls() const { return client_.has_tls(); }
  // Returns the handshake's result; valid for the connection's life.
  const CheckedClient& client() const { return client_.client(); }
  MonotonicTime begun_at() const { return begun_at_; }
  // Returns when to cut the connection. Never(), except in two cases: the client's side has ended and gRPC's has not,
  // or the client leaves gRPC's last bytes unread.
  MonotonicTime cut_at() const { return cut_at_; }

  // Called once the handshake is done, or at once for a plain connection. From then on bytes go to and from `inner`,
  // the relay's end of the pair.
  void Open(UniqueFd inner) { inner_ = Stream(std::move(inner)); }

  // Returns which rate the client has exceeded, once for each pause; and the time at which its input is read again.
  std::optional<FrameGuard::Breach> TakePause() { return guard_.TakePause(); }
  MonotonicTime paused_until() const { return guard_.paused_until(); }

  // Returns why the connection has ended. The relay sets it when the relay itself ends a connection.
  const RelayEnd& end() const { return end_; }
  void SetEnd(RelayEnd::Kind kind, std::string text);

  // True if epoll must report when the pair's end becomes writable. is_inner_writable_watched: epoll was asked for it.
  bool needs_inner_writable() const { return !in_.pending.empty() && !in_.is_writable; }
  bool is_inner_writable_watched = false;

  // The relay sets and reads these.
  bool is_ready = false;  // the connection can go on without an event
  bool is_timed = false;  // a time limit is running
  bool is_over = false;   // the connection has ended in this turn

  // Closes the client's side, which has ended. From then on Turn only waits for gRPC to close its end. Returns false if
  // there is nothing to wait for: gRPC has closed, never had an end, or was already waited for.
  bool Drain(MonotonicTime now);

  enum class Side { kClient, kInner };
  void Note(Side side, uint32_t epoll_events);

  enum class Step {
    kWait,   // for an event of a socket
    kMore,   // more can be done at once, after other connections have had their turn
    kReady,  // the handshake is done: call Open
    kOver,   // the connection has ended: see end()
  };
  // Does as much as one turn allows. `scratch` has kPieceBytes.
  Step Turn(char* scratch, MonotonicTime now);

 private:
  // One direction. Each of the two sockets serves both directions.
  struct Way {
    std::string pending;      // bytes that were read and must still be written
    bool is_readable = true;  // false after a read that finds no more; the next edge sets it again
    bool is_writable = true;
    bool may_end = false;    // an edge has reported the end: read on until the end comes
    bool has_ended = false;  // no more is read
    bool is_closed = false;  // the end was passed on, too
  };

  Step ShakeHands();
  Step AwaitGrpc(char* scratch);
  // Reads the next bytes of a way into `scratch`: held-back bytes first, then bytes from its socket. Returns their
  // number; 0 if there are none now.
  size_t ReadNext(Way& way, Stream& from, char* scratch, MonotonicTime now);
  // Carries as much as both sides take, within one turn's limits. Returns false if the connection has ended.
  bool Carry(Way& way, Stream& from, Stream& to, char* scratch, MonotonicTime now);
  // Writes `bytes`, and keeps what does not fit in `pending`. Returns false if `to` is broken.
  static bool Write(Way& way, Stream& to, std::string_view bytes);
  bool Broken(const Stream& stream);  // always returns false

  const uint64_t id_;
  const MonotonicTime begun_at_;
  std::shared_ptr<const TlsServerContext> tls_;  // kept until the handshake begins
  Stream client_;
  Stream inner_{UniqueFd()};
  FrameGuard guard_;
  std::string held_;  // was read, but the guard has not taken it yet
  Way in_;            // client to gRPC
  Way out_;           // gRPC to client
  bool is_draining_ = false;
  MonotonicTime cut_at_ = MonotonicTime::Never();
  RelayEnd end_;
};

}  // namespace muster
