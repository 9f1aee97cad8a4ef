// Connections that gRPC has and that carry no joined stream: ms-ctl's, and strangers'. Pure: no sockets, no clock,
// no lock.
//
// gRPC ends a connection by itself only while no call is open on it, and a call that never sends its request stays open
// for good. So unjoined ones have to go: whoever has made no new call for too long, and when there are too many,
// whoever has made none for longest. An agent that joins is unjoined for a moment only.
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

// A socket that gRPC owns and may close at any moment: `inode` tells whether the number still means it. Without one
// that can't be told.
struct SocketRef {
  int fd = -1;
  std::optional<uint64_t> inode;
};

struct PeerSocket {
  std::string peer;
  SocketRef socket;
};

class UnjoinedConnections {
 public:
  struct Options {
    size_t limit = 4'096;
    absl::Duration calm_limit = absl::Minutes(5);  // without a new call
  };

  explicit UnjoinedConnections(Options options) : options_(options) {}

  bool empty() const { return calm_.empty(); }

  // It has made its first call, or none for too long. Who has to go for it, if anybody.
  std::optional<PeerSocket> Add(const std::string& peer, SocketRef socket, MonotonicTime now);
  // A further one. Of a peer that is not here: nothing happens; so it is below.
  void NoteCall(const std::string& peer, MonotonicTime now);
  // A stream of it has joined, or one that had joined has ended.
  void NoteJoined(const std::string& peer);
  void NoteLeft(const std::string& peer, MonotonicTime now);

  // Removes those that are gone, and those that have been calm for too long: the latter are returned. `inode_of` gives
  // the inode behind a descriptor, or nothing if it is not open.
  template <typename InodeOf>
  std::vector<PeerSocket> Sweep(MonotonicTime now, const InodeOf& inode_of) {
    std::vector<PeerSocket> overdue;
    for (auto it = calm_.begin(); it != calm_.end();) {
      const auto known = known_.find(it->second);
      const SocketRef socket = known->second.socket;
      const bool is_open = inode_of(socket.fd) == socket.inode;
      if (is_open && now - it->first < options_.calm_limit) {
        ++it;
        continue;
      }
      if (is_open) overdue.push_back({it->second, socket});
      known_.erase(known);
      it = calm_.erase(it);
    }
    return overdue;
  }

 private:
  struct Known {
    SocketRef socket;
    MonotonicTime last_call;
    int joined = 0;  // streams; with any it has joined
  };
  void Forget(const std::string& peer);

  const Options options_;
  std::unordered_map<std::string, Known> known_;
  std::set<std::pair<MonotonicTime, std::string>> calm_;  // the unjoined, by their last call
};

}  // namespace muster::scheduler
