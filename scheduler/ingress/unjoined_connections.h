// Connections in gRPC without a joined stream: ms-ctl's and unknown clients'. Pure: no sockets, no clock, no lock.
//
// gRPC closes a connection by itself only while no call is open on it, and a call that never sends its request stays
// open for good. So unjoined connections must go that have made no new call for too long and, if there are too many,
// the one that has made none for longest. An agent that joins is unjoined only for a moment.
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

// A connection by its number (see Relay::Add), and its peer for people: "10.0.0.1:4711".
struct NamedConnection {
  uint64_t id = 0;
  std::string peer;
  bool operator==(const NamedConnection&) const = default;
};

class UnjoinedConnections {
 public:
  struct Options {
    size_t limit = 4'096;
    absl::Duration calm_limit = absl::Minutes(5);  // without a new call
  };

  explicit UnjoinedConnections(Options options) : options_(options) {}

  bool empty() const { return calm_.empty(); }

  // The connection has made its first call, or none for too long. Returns the one that must go for it, if any.
  std::optional<NamedConnection> Add(NamedConnection connection, MonotonicTime now);
  // It has made another call. This and the functions below ignore a connection that is not here.
  void NoteCall(uint64_t id, MonotonicTime now);
  // A stream of it has joined; a joined stream has ended.
  void NoteJoined(uint64_t id);
  void NoteLeft(uint64_t id, MonotonicTime now);
  void NoteClosed(uint64_t id);

  // Removes those that have been calm for too long; the caller closes them.
  std::vector<NamedConnection> TakeOverdue(MonotonicTime now) { return TakeCalm(now, options_.calm_limit); }
  // Removes those that have made no new call for `calm`.
  std::vector<NamedConnection> TakeCalm(MonotonicTime now, absl::Duration calm);

 private:
  struct Known {
    std::string peer;
    MonotonicTime last_call;
    int joined = 0;  // number of joined streams; with any, the connection has joined
  };
  NamedConnection TakeFirst();

  const Options options_;
  std::unordered_map<uint64_t, Known> known_;
  std::set<std::pair<MonotonicTime, uint64_t>> calm_;  // the unjoined, by last call
};

}  // namespace muster::scheduler
