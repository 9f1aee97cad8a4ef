// Connections that have not made their first call yet. Pure: no sockets, no clock, no lock.
//
// A connection is first silent (accepted, no byte came). Then it waits for its turn. Then it is handed over to gRPC,
// and with its first call it leaves the table. The table limits how many gRPC has at once. Waiting connections have no
// time limit, and each costs a descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "scheduler/ingress/fair_queue.h"
#include "scheduler/ingress/unjoined_connections.h"

namespace muster::scheduler {

class ConnectionTable {
 public:
  struct Options {
    size_t limit = 64;                                        // handed over, without a call yet
    size_t most_silent = 4'096;                               // then the oldest one must go
    size_t most_waiting = 16'384;                             // for their turn: see FairQueue
    absl::Duration silence_limit = absl::Seconds(10);         // until the first byte
    absl::Duration crowded_silence_limit = absl::Seconds(3);  // the same while descriptors are scarce
    absl::Duration call_limit = absl::Seconds(11);            // from the hand-over to the first call
  };

  explicit ConnectionTable(Options options) : options_(options), waiting_(options.most_waiting) {}

  bool empty() const { return size() == 0; }
  size_t size() const { return silent_.size() + waiting_.size() + handed_over_.size(); }

  struct Silent {
    int fd = -1;
    std::string peer;
    absl::Duration age;
  };
  // Adds a silent connection. Returns the one that must go for it, if any.
  std::optional<Silent> AddSilent(int fd, std::string peer, MonotonicTime now);
  // Removes a silent connection and returns its peer; none if it isn't there.
  std::optional<std::string> TakeSilent(int fd);
  // Removes those silent for too long; the caller closes them. `is_crowded`: descriptors are scarce.
  std::vector<Silent> TakeOverdue(MonotonicTime now, bool is_crowded);

  // Queues a connection that has sent its first bytes. Returns the one that must go for it, if any; maybe the new one.
  std::optional<FairQueue::Waiting> AddWaiting(int fd, std::string peer);
  // Removes and returns the next to hand over; none while gRPC has as many as it may, or none waits.
  std::optional<FairQueue::Waiting> TakeNext();
  // True if the next one may be handed over. The last places are kept, a sixteenth each: for connections from an
  // address, from a client, and from a network that has nothing in gRPC. So no client can hold all places.
  bool HasNext() const {
    return !waiting_.empty() && handed_over_.size() < options_.limit - waiting_.HoldsOfNext() * options_.limit / 16;
  }
  // True if connections wait, but the free places are not for them.
  bool IsFull() const { return !waiting_.empty() && !HasNext(); }

  // Returns the descriptors of all that were not handed over, and forgets them.
  std::vector<int> TakeAllOwn();

  // The relay and gRPC get the connection. From now on its number identifies it.
  void AddHandedOver(NamedConnection connection, MonotonicTime now);
  // The first call has come. Returns its peer; none if the connection is not in the table.
  std::optional<std::string> NoteCall(uint64_t id) { return TakeHandedOver(id); }
  // The connection has ended. Returns its peer if it made no call.
  std::optional<std::string> NoteClosed(uint64_t id) { return TakeHandedOver(id); }
  // Removes those that made no call in time.
  std::vector<NamedConnection> TakeMute(MonotonicTime now) { return TakeMute(now, options_.call_limit); }
  // Removes those that made no call within `limit`.
  std::vector<NamedConnection> TakeMute(MonotonicTime now, absl::Duration limit);

 private:
  struct Accepted {
    std::string peer;
    MonotonicTime since;
  };
  std::optional<std::string> TakeHandedOver(uint64_t id);

  const Options options_;
  std::map<int, Accepted> silent_;
  FairQueue waiting_;
  std::unordered_map<uint64_t, Accepted> handed_over_;
};

}  // namespace muster::scheduler
