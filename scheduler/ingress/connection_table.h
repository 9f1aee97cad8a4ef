// Connections that have not made their first call yet. Pure: no sockets, no clock, no lock.
//
// A connection is first silent (accepted, no byte came), then it waits for its turn, then it is handed over (gRPC has
// it), and it leaves the table with its first call. The table bounds how many gRPC has at once; for those that wait no
// limit of time runs, and they cost a descriptor each.
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
    size_t most_silent = 4'096;                               // then the oldest one has to go
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
  // Who has to go for it, if anybody.
  std::optional<Silent> AddSilent(int fd, std::string peer, MonotonicTime now);
  // Removes a silent connection; its peer, or nothing if it isn't there.
  std::optional<std::string> TakeSilent(int fd);
  // Removes those that have been silent for too long: the caller closes them. `is_crowded`: descriptors are scarce.
  std::vector<Silent> TakeOverdue(MonotonicTime now, bool is_crowded);

  // Its first bytes are there. Who has to go for it, if anybody; it may be the new one itself.
  std::optional<FairQueue::Waiting> AddWaiting(int fd, std::string peer);
  // Whoever may be handed over now; nothing while gRPC has as many as it may, or nobody waits.
  std::optional<FairQueue::Waiting> TakeNext();
  // The last places are kept, a sixteenth each, for those of whose address, whose party, and whose network nothing is
  // under way: who holds all others can't shut them out.
  bool HasNext() const {
    return !waiting_.empty() && handed_over_.size() < options_.limit - waiting_.HoldsOfNext() * options_.limit / 16;
  }
  // Somebody waits, but not for gRPC's places to be taken.
  bool IsFull() const { return !waiting_.empty() && !HasNext(); }

  // The descriptors of all that were not handed over; they are forgotten.
  std::vector<int> TakeAllOwn();

  // The relay and gRPC get it: from now on it is known by its number.
  void AddHandedOver(NamedConnection connection, MonotonicTime now);
  // The first call has come: its peer, or nothing if the connection is not in the table.
  std::optional<std::string> NoteCall(uint64_t id) { return TakeHandedOver(id); }
  // It has gone away, or was thrown out: its peer, if that was before any call.
  std::optional<std::string> NoteClosed(uint64_t id) { return TakeHandedOver(id); }
  // Removes those that made no call in time.
  std::vector<NamedConnection> TakeMute(MonotonicTime now) { return TakeMute(now, options_.call_limit); }
  // The same of those that made none within `limit`.
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
