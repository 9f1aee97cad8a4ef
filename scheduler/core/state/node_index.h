// Answers to admission's questions about all nodes of a run. They are updated as nodes come and go, so that a join
// takes the same time however many are there. Evolve keeps them as part of the state; they follow from the nodes.
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

// Counts slots, and finds out whether a member conflicts with a newcomer.
class SlotCounts {
 public:
  // Adds or removes one node, with its present values.
  void Add(const std::string& id, const v1::NodeInfo& info, bool is_spare) { Count(id, info, is_spare, 1); }
  void Remove(const std::string& id, const v1::NodeInfo& info, bool is_spare) { Count(id, info, is_spare, -1); }

  // Slots of regular members, and of spares.
  uint32_t RegularSlots(v1::Role role) const { return regular_slots_[Index(role)]; }
  uint32_t SpareSlots(v1::Role role) const { return spare_slots_[Index(role)]; }

  // True if a regular member conflicts with a newcomer that has this id (empty: it will get a name) and no rank table:
  // an equal number, digits beside names, an equal node rank. May report a conflict wrongly, but never misses one.
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

// The lost nodes, counted, and indexed by what a newcomer without an id brings, so that a node that returns is matched
// without a look at the others.
class LostNodes {
 public:
  // Call Remove before and Add after each change to the node's is_lost or stale_incarnation, or to whether it exists.
  // Both do nothing for a node that isn't lost.
  void Remove(const Node& node) { Count(node, -1); }
  void Add(const Node& node) { Count(node, 1); }

  uint32_t size() const { return size_; }

  // Returns the id of the lost node that a newcomer without an id of its own replaces; empty: there is none. That node
  // had no id of its own either, and its processes have ended. One on the newcomer's machine goes first, then one on a
  // host of its name, then any; of several the first by id.
  std::string FindReplaced(const v1::NodeInfo& newcomer, const std::string& identity) const;

  bool operator==(const LostNodes&) const = default;

 private:
  enum class Place { kMachine, kHost, kAnywhere };
  // Identity of the owner, role, slots, and where it stood.
  using PlaceKey = std::tuple<std::string, v1::Role, int, Place, std::string>;

  static PlaceKey KeyOf(const std::string& identity, const v1::NodeInfo& info, Place place);
  void Count(const Node& node, int by);

  uint32_t size_ = 0;
  std::map<PlaceKey, std::set<std::string>> ids_by_key_;  // ids
};

}  // namespace muster::scheduler
