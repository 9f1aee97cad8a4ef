// Connections that wait for their turn with gRPC. Pure: no sockets, no clock, no lock.
//
// gRPC has only so many places for connections that have not made their first call (see ConnectionTable). A handshake
// costs the scheduler far more than the client, and an unfinished one keeps its place for seconds. So networks share
// the places evenly (max-min fairness), the clients of a network share its places, and the addresses of a client share
// its places (see FairShare). Connections from one address are served in order. So a flood from one address, or from
// all addresses that one client can have, hardly affects others.
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
  // Says whether gRPC already has a connection from the next connection's network, from its client, or even from its
  // address. The larger the value, the fewer places may be used for the next connection (ConnectionTable::HasNext).
  enum Holds { kNothing, kInItsNetwork, kOfItsClient, kAtItsAddress };

  explicit FairQueue(size_t most) : most_(most) {}

  bool empty() const { return all_.waiting == 0; }
  size_t size() const { return all_.waiting; }

  // Adds a connection. If there are then more than `most`, removes one (possibly the new one) and returns it.
  std::optional<Waiting> Add(Waiting waiting);
  // Call it only while a connection waits.
  Holds HoldsOfNext() const;
  // Removes and returns the next connection; none if no connection waits.
  std::optional<Waiting> Take();
  std::vector<Waiting> TakeAll();

  // Call these when gRPC gets a connection of this peer, and when that connection makes its first call or ends.
  void NoteUnderWay(const std::string& peer);
  void NoteOver(const std::string& peer);

 private:
  struct Numbered {
    uint64_t number = 0;  // in order of arrival
    Waiting waiting;
  };
  // The order in which parts have their turn, smallest first: whether the address that is next has connections in gRPC;
  // how many connections the part has in gRPC; the number of the waiting connection that is next; the part's name.
  using Turn = std::tuple<bool, size_t, uint64_t, std::string>;
  // The size of a part: the waiting connections of the part's largest client; all waiting connections of the part;
  // among equals, the number of the part's latest connection, and its name.
  using Crowd = std::tuple<size_t, size_t, uint64_t, std::string>;
  // A node of the tree: all networks, a network, a client, or an address. Its parts are the nodes of the next level.
  struct Share {
    size_t under_way = 0;                // connections in gRPC
    size_t waiting = 0;                  // connections in this queue
    uint64_t latest = 0;                 // the number of the latest connection
    std::map<std::string, Share> parts;  // by name; each has connections waiting or in gRPC
    std::set<Turn> turns;                // of each part that has waiting connections
    std::set<Crowd> crowds;              // of the same parts
    std::deque<Numbered> line;           // only an address has one: its waiting connections
  };
  static constexpr size_t kLevels = 3;
  using Path = std::array<std::string, kLevels>;

  static Path PathOf(const std::string& peer);
  static Turn TurnOf(const std::string& name, const Share& share);
  static Crowd CrowdOf(const std::string& name, const Share& share, size_t level);
  // Calls `change` for the address at the end of `path`. Then brings the counts and the order up to date, at the
  // address's level and all levels above it.
  template <typename Change>
  static void Update(Share& share, const Path& path, size_t level, const Change& change);
  Waiting DropOne();

  const size_t most_;
  uint64_t last_number_ = 0;
  Share all_;
};

}  // namespace muster::scheduler
