// Connections that have not made their first call yet. Pure: no sockets, no clock, no lock.
//
// A connection goes through these states: silent (accepted, but no byte has come), waiting (for its turn), and handed
// over (gRPC has it). Its first call removes it from the table. The table limits how many connections are handed over
// at once. A waiting connection has no time limit, and costs a descriptor.
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
    size_t limit = 64;                                        // connections handed over, without a call yet
    size_t most_silent = 4'096;                               // a further one replaces the oldest
    size_t most_waiting = 16'384;                             // a further one makes FairQueue drop one
    absl::Duration silence_limit = absl::Seconds(10);         // until the first byte
    absl::Duration crowded_silence_limit = absl::Seconds(3);  // until the first byte, while descriptors are scarce
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
  // Adds a silent connection. If the table is full, removes the oldest silent one and returns it; the caller closes it.
  std::optional<Silent> AddSilent(int fd, std::string peer, MonotonicTime now);
  // Removes a silent connection and returns its peer; none if no silent connection has this descriptor.
  std::optional<std::string> TakeSilent(int fd);
  // Removes the connections that have been silent for too long and returns them; the caller closes them. `is_crowded`:
  // descriptors are scarce.
  std::vector<Silent> TakeOverdue(MonotonicTime now, bool is_crowded);

  // Queues a connection that has sent its first bytes. If the queue is full, removes a connection (possibly the new
  // one) and returns it; the caller closes it.
  std::optional<FairQueue::Waiting> AddWaiting(int fd, std::string peer);
  // Removes and returns the next connection to hand over; none if HasNext is false.
  std::optional<FairQueue::Waiting> TakeNext();
  // True if a connection waits, and a place in gRPC is free for it. Some places are reserved, so that no client can
  // take them all. The last sixteenth is only for networks without a connection in gRPC, the one before it only for
  // clients without one, and the one before that only for addresses without one. (See FairShare.)
  bool HasNext() const {
    return !waiting_.empty() && handed_over_.size() < options_.limit - waiting_.HoldsOfNext() * options_.limit / 16;
  }
  // True if connections wait, but none of them may be handed over now.
  bool IsFull() const { return !waiting_.empty() && !HasNext(); }

  // Removes all connections that were not handed over, and returns their descriptors.
  std::vector<int> TakeAllOwn();

  // Call it when the relay and gRPC get the connection. From now on its number identifies it.
  void AddHandedOver(NamedConnection connection, MonotonicTime now);
  // Call it when a call has come over the connection. If it is the first one, removes the connection and returns its
  // peer; none if the connection is not in the table.
  std::optional<std::string> NoteCall(uint64_t id) { return TakeHandedOver(id); }
  // Call it when the connection has ended. Returns its peer if it made no call.
  std::optional<std::string> NoteClosed(uint64_t id) { return TakeHandedOver(id); }
  // Removes and returns the connections that have made no call within call_limit of the hand-over.
  std::vector<NamedConnection> TakeMute(MonotonicTime now) { return TakeMute(now, options_.call_limit); }
  // Removes and returns the connections that have made no call within `limit` of the hand-over.
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
