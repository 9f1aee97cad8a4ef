// What admission asks about all nodes of a run, kept as they come and go: a join takes the same time however many are
// there. Part of the state that Evolve keeps; it follows from the nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

class Node;

// How many slots there are, and who may stand in a newcomer's way.
class SlotCounts {
 public:
  // One node more, or less, as it is now.
  void Add(const std::string& id, const v1::NodeInfo& info, bool is_spare) { Count(id, info, is_spare, 1); }
  void Remove(const std::string& id, const v1::NodeInfo& info, bool is_spare) { Count(id, info, is_spare, -1); }

  // Slots of regular members, and of spares.
  uint32_t RegularSlots(v1::Role role) const { return regular_slots_[Index(role)]; }
  uint32_t SpareSlots(v1::Role role) const { return spare_slots_[Index(role)]; }

  // Whether a regular member stands in the way of a newcomer without a rank table that has this id (empty: it will get
  // a name): an equal number, digits beside names, an equal node rank. May say so wrongly, never hides one.
  bool MayClash(const std::string& id, const v1::NodeInfo& info) const;

  bool operator==(const SlotCounts&) const = default;

 private:
  static size_t Index(v1::Role role) { return role == v1::ROLE_SERVER ? 1 : 0; }
  void Count(const std::string& id, const v1::NodeInfo& info, bool is_spare, int by);

  uint32_t regular_slots_[2] = {0, 0};
  uint32_t spare_slots_[2] = {0, 0};
  // Regular members, by how they are placed. Entries without any are dropped.
  uint32_t by_name_ = 0;
  uint32_t by_number_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> numbers_;
  absl::flat_hash_map<uint32_t, uint32_t> node_ranks_;
};

// The lost nodes, counted, and found by what a newcomer without an id brings: one that returns looks at none of the
// others.
class LostNodes {
 public:
  // Before and after each change to whether the node is lost, with a stale incarnation or there at all. Of one that
  // isn't lost: nothing happens.
  void Remove(const Node& node) { Count(node, -1); }
  void Add(const Node& node) { Count(node, 1); }

  uint32_t size() const { return size_; }

  // The id of the lost node whose place a newcomer without an id of its own takes: one that had none either and whose
  // processes have ended, on its machine, else on a host of its name, else any; of several the first by id. Empty:
  // there is none.
  std::string SeatFor(const v1::NodeInfo& newcomer, const std::string& identity) const;

  bool operator==(const LostNodes&) const = default;

 private:
  enum class Place { kMachine, kHost, kAnywhere };
  // Whose it is, role, slots, and where it stood.
  using Seat = std::tuple<std::string, v1::Role, int, Place, std::string>;

  static Seat SeatOf(const std::string& identity, const v1::NodeInfo& info, Place place);
  void Count(const Node& node, int by);

  uint32_t size_ = 0;
  std::map<Seat, std::set<std::string>> seats_;  // ids
};

}  // namespace muster::scheduler
