// Stands between clients' connections and gRPC: ends TLS, carries the bytes of each connection over a pair of sockets,
// of which gRPC has one end, and holds what clients send to the limits of FrameGuard.
//
//   client ─ TCP, TLS ─ relay ─ socket pair ─ gRPC
//
// gRPC tells a call's peer by the name of the relay's end of the pair (see connection_name.h). Bytes are neither lost,
// doubled nor reordered, and are held back only while who shall have them doesn't take them (then no more than
// kPieceBytes of each direction are read).
//
// Each connection belongs to one of the relay's threads from Add to its end. Add and Cut: any thread.
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
  // Must not block. For each connection: maybe on_open, then on_closed, once.
  struct Hooks {
    // gRPC's end of the pair, nonblocking; `client` is what the handshake found, null for a plain connection. Called by
    // the thread that calls Add (plain) or the connection's own (TLS).
    std::function<void(uint64_t id, UniqueFd grpc, const CheckedClient* client)> on_open;
    // The client is listened to more slowly for this, from now on for a moment. By the connection's own thread; may be
    // null.
    std::function<void(uint64_t id, const FrameGuard::Breach& pause)> on_paused;
    // By the connection's own thread, or the one that calls Add.
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
  // Closes all connections, of which no hook tells. Not by a thread of the relay.
  void Stop();

  // Waits until there is none. False after `timeout`.
  bool AwaitNone(absl::Duration timeout);

  // Takes over a connected, nonblocking stream socket; `tls` null: plain. `id`: of NewConnection,
  // used once.
  void Add(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls);

  // Ends it as if the client had hung up; nothing happens if it has ended already. on_closed comes when gRPC has closed
  // its end, too, and so it is where the client breaks a limit.
  void Cut(uint64_t id);

  // How many are there now.
  size_t size() const;

 private:
  class Thread;
  Thread& ThreadOf(uint64_t id) { return *threads_[id % threads_.size()]; }

  const Hooks hooks_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

// Counts what a client was too fast with, and logs it.
void NotePause(CountedLog& counted, const std::string& peer, const FrameGuard::Breach& pause);

// Counts why a connection is over, and tells it in the log, where that is worth it.
void NoteEnd(CountedLog& counted, const std::string& peer, const RelayEnd& end);

}  // namespace muster
