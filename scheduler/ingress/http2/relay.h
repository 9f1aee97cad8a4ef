// Stands between clients' connections and gRPC: carries the bytes of each over a pair of sockets, of which gRPC has one
// end, and holds what clients send to the limits of FrameGuard.
//
//   client ─ TCP ─ relay ─ socket pair ─ gRPC
//
// gRPC tells a call's peer by the name of the relay's end of the pair, "unix-abstract:ms-<random>-<id>": a name that
// the kernel holds and no client can change. Bytes are neither lost, doubled nor reordered, and are held back only
// while who shall have them doesn't take them (then no more than kPieceBytes of each direction are read).
//
//   what happens                         what becomes of the connection
//   the client ends its side             gRPC hears of it; what gRPC still says goes out
//   gRPC closes                          what it said goes out, then it is closed; a client that takes none of that for
//                                        kLinger is cut
//   the client breaks a limit            cut at once; on_breach is told
//   the client's connection breaks       gRPC hears the end
//
// Each connection belongs to one of the relay's threads from Add to its end. Add and Cut: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "scheduler/ingress/http2/frame_guard.h"

namespace muster::scheduler {

class Relay {
 public:
  // Called by the relay's threads; must not block.
  struct Hooks {
    std::function<void(uint64_t id, const FrameGuard::Breach& breach)> on_breach;
    std::function<void(uint64_t id)> on_closed;  // once for each connection that was added, also after a breach
  };

  // `clock` must outlive this.
  Relay(size_t threads, Hooks hooks, const Clock& clock);
  ~Relay();  // stops
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  absl::Status Start();
  // Closes all connections. Not by a thread of the relay.
  void Stop();

  // Takes over a connected, nonblocking stream socket. Returns gRPC's end, nonblocking. `id`: used once. Fails where
  // descriptors are short; the client's socket is closed then.
  absl::StatusOr<UniqueFd> Add(uint64_t id, UniqueFd client);

  // Ends a connection as if its client had hung up. Harmless for one that isn't there any more.
  void Cut(uint64_t id);

  // The id of a connection, from what gRPC calls its peer; 0: it is none of this relay's.
  uint64_t IdOf(const std::string& grpc_peer) const;

  size_t size() const;  // open connections

 private:
  class Thread;
  Thread& ThreadOf(uint64_t id) const { return *threads_[id % threads_.size()]; }

  const std::string name_;  // what all names of this relay begin with
  const Hooks hooks_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace muster::scheduler
