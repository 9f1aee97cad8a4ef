// Connections in gRPC that have no joined stream: those of ms-ctl and of unknown clients. Pure: no sockets, no clock,
// no lock.
//
// gRPC closes an idle connection by itself only if no call is open on it. A call that never sends its request would
// stay open for good. So this class names the connections to close: those that have made no new call for too long
// ("calm"), and, if too many are open, the one that has made none for the longest time. An agent's connection is
// unjoined only for a moment, until the agent joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::scheduler {

// A connection's number (see Relay::Add), and its peer for messages: "10.0.0.1:4711".
struct NamedConnection {
  uint64_t id = 0;
  std::string peer;
  bool operator==(const NamedConnection&) const = default;
};

class UnjoinedConnections {
 public:
  struct Options {
    size_t limit = 4'096;
    absl::Duration calm_limit = absl::Minutes(5);  // how long a connection may stay open without a new call
  };

  explicit UnjoinedConnections(Options options) : options_(options) {}

  bool empty() const { return calm_.empty(); }

  // Adds a connection that has made its first call, or has not made one in time. If there are now too many, removes the
  // one that has been calm for longest and returns it; the caller closes it.
  std::optional<NamedConnection> Add(NamedConnection connection, MonotonicTime now);
  // The connection has made another call. This and the functions below ignore an unknown connection.
  void NoteCall(uint64_t id, MonotonicTime now);
  // Call these when a stream of the connection has joined, when a joined stream of it has ended, and when the
  // connection has ended.
  void NoteJoined(uint64_t id);
  void NoteLeft(uint64_t id, MonotonicTime now);
  void NoteClosed(uint64_t id);

  // Removes and returns the connections that have made no new call for calm_limit; the caller closes them.
  std::vector<NamedConnection> TakeOverdue(MonotonicTime now) { return TakeCalm(now, options_.calm_limit); }
  // Removes and returns the connections that have made no new call for `calm`.
  std::vector<NamedConnection> TakeCalm(MonotonicTime now, absl::Duration calm);

 private:
  struct Known {
    std::string peer;
    MonotonicTime last_call;
    int joined = 0;  // number of joined streams; 0: the connection is unjoined
  };
  NamedConnection TakeFirst();

  const Options options_;
  std::unordered_map<uint64_t, Known> known_;
  std::set<std::pair<MonotonicTime, uint64_t>> calm_;  // the unjoined connections, by the time of their last call
};

}  // namespace muster::scheduler
