// Stands between clients' connections and gRPC. It ends TLS, carries the bytes of each connection to and from gRPC over
// a pair of sockets, and checks clients' input against the limits of FrameGuard.
//
//   client ─ TCP, TLS ─ relay ─ socket pair ─ gRPC
//
// gRPC names a call's peer after the relay's end of the pair (see connection_name.h). The relay neither loses, doubles
// nor reorders bytes. It keeps bytes back only while their receiver does not take them; in each direction it then holds
// at most kPieceBytes.
//
// Each connection belongs to one of the relay's threads from Add to its end. Any thread may call Add and Cut.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/net/http2/relayed_connection.h"
#include "common/sys/log.h"

namespace muster {

class Relay {
 public:
  // Called for each connection: on_open at most once, then on_closed once. The hooks must not block.
  struct Hooks {
    // `grpc` is gRPC's end of the pair, nonblocking. `client` is the handshake's result, null for a plain connection.
    // Called by the thread that calls Add (plain connection) or by the connection's own thread (TLS).
    std::function<void(uint64_t id, UniqueFd grpc, const CheckedClient* client)> on_open;
    // Called when the client exceeds a rate (`pause`) and is therefore read more slowly for a moment. Called by the
    // connection's own thread; may be null.
    std::function<void(uint64_t id, const FrameGuard::Breach& pause)> on_paused;
    // Called by the connection's own thread, or by the thread that calls Add.
    std::function<void(uint64_t id, const RelayEnd& end)> on_closed;
  };
  struct Options {
    size_t threads = 1;
    absl::Duration handshake_limit = absl::Seconds(10);
  };

  // `clock` must outlive this.
  Relay(Options options, Hooks hooks, const Clock& clock);
  ~Relay();  // stops
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  absl::Status Start();
  // Closes all connections without calling a hook. Must not be called by a thread of the relay.
  void Stop();

  // Waits until there are no connections. Returns false if some are left after `timeout`.
  bool AwaitNone(absl::Duration timeout);

  // Takes over a connected, nonblocking stream socket. `tls` is null for a plain connection. `id` must come from
  // NewConnection, and may be used only once.
  void Add(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls);

  // Ends a connection as if the client had hung up. Does nothing if it has already ended. on_closed is called once gRPC
  // has closed its end, too.
  void Cut(uint64_t id);

  // Returns the number of connections.
  size_t size() const;

 private:
  class Thread;
  Thread& ThreadOf(uint64_t id) { return *threads_[id % threads_.size()]; }

  const Hooks hooks_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

// Counts and logs which rate a client has exceeded.
void NotePause(CountedLog& counted, const std::string& peer, const FrameGuard::Breach& pause);

// Counts and logs why a connection has ended; does nothing if it simply ended (RelayEnd::Kind::kEnded).
void NoteEnd(CountedLog& counted, const std::string& peer, const RelayEnd& end);

}  // namespace muster
