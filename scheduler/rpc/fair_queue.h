// Connections that wait for their turn with gRPC. Pure: no sockets, no clock, no lock.
//
// A handshake costs a scheduler far more than a client, and one that never ends keeps its place for seconds. So the
// next turn is of the address that has the fewest connections under way (max-min fairness), among equals of whoever has
// waited longest; and when the room is full, the address with most in it loses its last one. All agents behind one
// address queue as in a shop; of a flood from one address others see little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::scheduler {

class FairQueue {
 public:
  struct Waiting {
    int fd = -1;
    std::string peer;  // address and port: "10.0.0.1:40000", "[::1]:40000"
  };

  explicit FairQueue(size_t most) : most_(most) {}

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Who has to go for it, if anybody; it may be the new one itself.
  std::optional<Waiting> Add(Waiting waiting);
  // How many the address whose turn it is has under way; somebody must wait.
  size_t UnderWayOfNext() const { return std::get<0>(*turns_.begin()); }
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
  struct Address {
    size_t under_way = 0;
    std::deque<Numbered> line;
  };
  using Addresses = std::unordered_map<std::string, Address>;
  using Turn = std::tuple<size_t, uint64_t, std::string>;  // under way, the number of the first, the address

  static Turn TurnOf(const std::string& name, const Address& address);
  // Changes an address by `change`, and keeps its place among the turns.
  template <typename Change>
  void Update(const std::string& name, const Change& change);
  std::string LongestLine() const;

  const size_t most_;
  size_t size_ = 0;
  uint64_t last_number_ = 0;
  Addresses addresses_;   // with a line or something under way
  std::set<Turn> turns_;  // of those with a line
};

}  // namespace muster::scheduler
