// Connections that wait for their turn with gRPC. Pure: no sockets, no clock, no lock.
//
// A handshake costs a scheduler far more than a client, and one that never ends keeps its place for seconds. So places
// are shared (max-min fairness) among networks, within a network among parties, and within a party among its addresses
// (see FairShare): all agents behind one address queue as in a shop, and of a flood from one address, or from all
// addresses that one party can have, others see little.
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
  // Where the one whose turn it is has something under way already: the nearer, the fewer places are left for it.
  enum Holds { kNothing, kInItsNetwork, kInItsParty, kAtItsAddress };

  explicit FairQueue(size_t most) : most_(most) {}

  bool empty() const { return all_.waiting == 0; }
  size_t size() const { return all_.waiting; }

  // Who has to go for it, if anybody; it may be the new one itself.
  std::optional<Waiting> Add(Waiting waiting);
  // Somebody must wait.
  Holds HoldsOfNext() const;
  // Whose turn it is; nothing if nobody waits.
  std::optional<Waiting> Take();
  std::vector<Waiting> TakeAll();

  // A connection of this peer is under way, and it is no more.
  void NoteUnderWay(const std::string& peer);
  void NoteOver(const std::string& peer);

 private:
  struct Numbered {
    uint64_t number = 0;  // in the order in which they came
    Waiting waiting;
  };
  // Whether the address has something under way; how many have; the number of who came first; the name.
  using Turn = std::tuple<bool, size_t, uint64_t, std::string>;
  // How many wait, of the largest party and in all; the number of who came last; the name.
  using Crowd = std::tuple<size_t, size_t, uint64_t, std::string>;
  // Everybody, a network, a party, an address: all but the last have parts.
  struct Share {
    size_t under_way = 0;
    size_t waiting = 0;
    uint64_t latest = 0;                 // the number of who came last
    std::map<std::string, Share> parts;  // that have somebody waiting or under way
    std::set<Turn> turns;                // of parts with somebody waiting …
    std::set<Crowd> crowds;              // … and how many
    std::deque<Numbered> line;           // of an address
  };
  static constexpr size_t kLevels = 3;
  using Path = std::array<std::string, kLevels>;

  static Path PathOf(const std::string& peer);
  static Turn TurnOf(const std::string& name, const Share& share);
  static Crowd CrowdOf(const std::string& name, const Share& share, size_t level);
  // Changes an address by `change`, and keeps its place, and those above it, among the others.
  template <typename Change>
  static void Update(Share& share, const Path& path, size_t level, const Change& change);
  Waiting DropOne();

  const size_t most_;
  uint64_t last_number_ = 0;
  Share all_;
};

}  // namespace muster::scheduler
