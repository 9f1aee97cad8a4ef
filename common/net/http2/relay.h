// Stands between clients' connections and gRPC. Ends TLS, carries the bytes of each connection over a pair of sockets,
// with gRPC at the other end, and holds clients' input to the limits of FrameGuard.
//
//   client ─ TCP, TLS ─ relay ─ socket pair ─ gRPC
//
// gRPC names a call's peer by the name of the relay's end of the pair (see connection_name.h). No bytes are lost,
// doubled or reordered. They are held back only while their receiver doesn't take them (then no more than kPieceBytes
// of each direction are read).
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
  // Must not block. Called for each connection: on_open at most once, then on_closed once.
  struct Hooks {
    // `grpc` is gRPC's end of the pair, nonblocking; `client` is the handshake's result, null for a plain connection.
    // Called by the thread that calls Add (plain) or by the connection's own (TLS).
    std::function<void(uint64_t id, UniqueFd grpc, const CheckedClient* client)> on_open;
    // From now on the client is read more slowly for a moment, for this reason. Called by the connection's own thread;
    // may be null.
    std::function<void(uint64_t id, const FrameGuard::Breach& pause)> on_paused;
    // Called by the connection's own thread, or by the one that calls Add.
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
  // Closes all connections without calling a hook. Not by a thread of the relay.
  void Stop();

  // Waits until there are no connections. False after `timeout`.
  bool AwaitNone(absl::Duration timeout);

  // Takes over a connected, nonblocking stream socket; `tls` null: plain. `id` comes from NewConnection and is used
  // once.
  void Add(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls);

  // Ends a connection as if the client had hung up; does nothing if it has ended already. on_closed comes once gRPC has
  // closed its end, too. A broken limit ends a connection in the same way.
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

// Counts and logs what a client was too fast with.
void NotePause(CountedLog& counted, const std::string& peer, const FrameGuard::Breach& pause);

// Counts why a connection is over, and logs it if that is worth it.
void NoteEnd(CountedLog& counted, const std::string& peer, const RelayEnd& end);

}  // namespace muster
