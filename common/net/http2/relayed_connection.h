// One connection that the relay carries: first a handshake if it is TLS, then bytes both ways. Owned by one thread.
//
//   event                                effect on the connection
//   the handshake fails                  over: kRefused, or kEnded if the client went away by itself
//   the client ends its side             gRPC learns of it; gRPC's further bytes still go out
//   the client is too fast               its input is read more slowly (FrameGuard)
//   the client doesn't read              its input is not read until it does
//   gRPC closes                          its last bytes go out, then it is over; a client that takes none of them for
//                                        kLinger is cut
//   the client breaks a limit            its connection is closed at once: kBreach; gRPC learns of the end
//   the client's connection breaks       gRPC learns of the end
//
// A connection is over only when gRPC has closed its end of the pair (or has not within kLinger). Until then the
// client's unfinished calls keep its place. Otherwise a client that connects again and again could build up a backlog
// in gRPC.
//
// Both sockets are watched for edges: the flags here say that one is readable or writable until the socket says
// otherwise. The client's socket is watched for both, once. The pair's end would report that it is writable each time
// gRPC has read something, so that is asked for only while bytes wait for it.
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

// The reason why a connection is over.
struct RelayEnd {
  enum class Kind {
    kEnded,    // one of both sides has closed, or the connection has broken
    kRefused,  // the handshake failed: `fault`
    kSlow,     // the handshake took too long
    kBreach,   // the client broke a limit of FrameGuard: `what` is its kind
    kNoRoom,   // no memory, no descriptors
  };
  Kind kind = Kind::kEnded;
  TlsFault fault = TlsFault::kNone;
  const char* what = "";
  std::string text;  // for people; empty: nothing to say
};

class RelayedConnection {
 public:
  static constexpr size_t kPieceBytes = 64 * 1024;  // read at once, at most
  static constexpr absl::Duration kLinger = absl::Seconds(10);

  // A connected, nonblocking socket. `tls` null: plain.
  RelayedConnection(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls, MonotonicTime now);

  uint64_t id() const { return id_; }
  int client_fd() const { return client_.fd(); }
  int inner_fd() const { return inner_.fd(); }
  bool is_open() const { return inner_.fd() >= 0; }  // has its end of the pair
  bool has_tls() const { return client_.has_tls(); }
  // Returns the handshake's result; valid for the connection's life.
  const CheckedClient& client() const { return client_.client(); }
  MonotonicTime begun_at() const { return begun_at_; }
  // Returns when to cut it: gRPC has closed and the client takes nothing, or it drains. Never if there is no such limit
  // now.
  MonotonicTime cut_at() const { return cut_at_; }

  // Called once the handshake is done or if none is needed: from now on bytes go to and from `inner`, the relay's end
  // of a pair.
  void Open(UniqueFd inner) { inner_ = Stream(std::move(inner)); }

  // Returns what the client was too fast with, once for each pause; and when it is read again.
  std::optional<FrameGuard::Breach> TakePause() { return guard_.TakePause(); }
  MonotonicTime paused_until() const { return guard_.paused_until(); }

  // Returns why it is over. The relay sets it when it ends a connection by itself.
  const RelayEnd& end() const { return end_; }
  void SetEnd(RelayEnd::Kind kind, std::string text);

  // True if epoll has to report that the pair's end is writable; and whether it was asked to.
  bool needs_inner_writable() const { return !in_.pending.empty() && !in_.is_writable; }
  bool is_inner_writable_watched = false;

  // The relay's own notes: it has more to do without an event; a time limit runs; it has ended in this turn.
  bool is_ready = false;
  bool is_timed = false;
  bool is_over = false;

  // Closes the client's side, which is over; from now on the turns only wait for gRPC to close its end. Returns false
  // if there is nothing to wait for: gRPC has closed, never had an end, or was waited for already.
  bool Drain(MonotonicTime now);

  enum class Side { kClient, kInner };
  void Note(Side side, uint32_t epoll_events);

  enum class Step {
    kWait,   // for a socket
    kMore,   // more can be done, once the others have had their turn
    kReady,  // the handshake is done: Open is next
    kOver,   // see end()
  };
  // Does as much as is allowed in one turn. `scratch` has kPieceBytes.
  Step Turn(char* scratch, MonotonicTime now);

 private:
  // One direction. Each of the two sockets serves both.
  struct Way {
    std::string pending;      // was read, and still has to be written
    bool is_readable = true;  // until a read finds no more; the next edge sets it again
    bool is_writable = true;
    bool may_end = false;    // an edge reported the end: reading goes on until it comes
    bool has_ended = false;  // no more is read
    bool is_closed = false;  // … and the end was passed on
  };

  Step ShakeHands();
  Step AwaitGrpc(char* scratch);
  // Reads a way's next bytes into `scratch`: held-back bytes first, else from its socket. 0: there are none now.
  size_t ReadNext(Way& way, Stream& from, char* scratch, MonotonicTime now);
  // Carries as much as both sides take, within a turn. False: the connection is over.
  bool Carry(Way& way, Stream& from, Stream& to, char* scratch, MonotonicTime now);
  // Writes; the rest stays in `pending`. False: `to` is broken.
  static bool Write(Way& way, Stream& to, std::string_view bytes);
  bool Broken(const Stream& stream);  // always returns false

  const uint64_t id_;
  const MonotonicTime begun_at_;
  std::shared_ptr<const TlsServerContext> tls_;  // until the handshake begins
  Stream client_;
  Stream inner_{UniqueFd()};
  FrameGuard guard_;
  std::string held_;  // was read, and the guard has not taken it yet
  Way in_;            // client to gRPC
  Way out_;           // gRPC to client
  bool is_draining_ = false;
  MonotonicTime cut_at_ = MonotonicTime::Never();
  RelayEnd end_;
};

}  // namespace muster
