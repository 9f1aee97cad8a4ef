// Connections that wait for their turn with gRPC. Pure: no sockets, no clock, no lock.
//
// A handshake costs a scheduler far more than a client, and one that never ends keeps its place for seconds. So places
// are shared (max-min fairness) among networks, within a network among clients, and within a client among its addresses
// (see FairShare). All agents behind one address queue in order. A flood from one address, or from all addresses that
// one client can have, hardly affects others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace muster::scheduler {

class FairQueue {
 public:
  struct Waiting {
    int fd = -1;
    std::string peer;  // address and port: "10.0.0.1:40000", "[::1]:40000"
  };
  // The nearest level at which the next connection's peer already has one in gRPC: the nearer, the fewer places are
  // left.
  enum Holds { kNothing, kInItsNetwork, kOfItsClient, kAtItsAddress };

  explicit FairQueue(size_t most) : most_(most) {}

  bool empty() const { return all_.waiting == 0; }
  size_t size() const { return all_.waiting; }

  // Returns the connection that must go for the new one, if any; maybe the new one itself.
  std::optional<Waiting> Add(Waiting waiting);
  // Requires a waiting connection.
  Holds HoldsOfNext() const;
  // Removes and returns the next connection; none if none waits.
  std::optional<Waiting> Take();
  std::vector<Waiting> TakeAll();

  // A connection of this peer is in gRPC; later it no longer is.
  void NoteUnderWay(const std::string& peer);
  void NoteOver(const std::string& peer);

 private:
  struct Numbered {
    uint64_t number = 0;  // in order of arrival
    Waiting waiting;
  };
  // An address's place: whether it has connections in gRPC; how many; the number of the earliest waiting one; the name.
  using Turn = std::tuple<bool, size_t, uint64_t, std::string>;
  // The size of a share: how many wait, in the largest client and in all; the number of the latest; the name.
  using Crowd = std::tuple<size_t, size_t, uint64_t, std::string>;
  // All clients, a network, a client, an address: all except the last have parts.
  struct Share {
    size_t under_way = 0;
    size_t waiting = 0;
    uint64_t latest = 0;                 // the number of the latest one
    std::map<std::string, Share> parts;  // with connections waiting or in gRPC
    std::set<Turn> turns;                // of parts with waiting connections …
    std::set<Crowd> crowds;              // … and their sizes
    std::deque<Numbered> line;           // of an address
  };
  static constexpr size_t kLevels = 3;
  using Path = std::array<std::string, kLevels>;

  static Path PathOf(const std::string& peer);
  static Turn TurnOf(const std::string& name, const Share& share);
  static Crowd CrowdOf(const std::string& name, const Share& share, size_t level);
  // Changes an address by `change`, and reorders it and the levels above it among the others.
  template <typename Change>
  static void Update(Share& share, const Path& path, size_t level, const Change& change);
  Waiting DropOne();

  const size_t most_;
  uint64_t last_number_ = 0;
  Share all_;
};

}  // namespace muster::scheduler
