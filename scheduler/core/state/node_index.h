// Counts and indexes over all nodes of a run, for the admission of new nodes. They are updated when a node comes or
// goes, so that the time of a join does not grow with the number of nodes. Evolve keeps them up to date.
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
  // These add or remove one node. Remove needs the values with which the node was added.
  void Add(const std::string& id, const v1::NodeInfo& info, bool is_spare) { Count(id, info, is_spare, 1); }
  void Remove(const std::string& id, const v1::NodeInfo& info, bool is_spare) { Count(id, info, is_spare, -1); }

  // Return the number of slots of regular members, and of spares.
  uint32_t RegularSlots(v1::Role role) const { return regular_slots_[Index(role)]; }
  uint32_t SpareSlots(v1::Role role) const { return spare_slots_[Index(role)]; }

  // Returns true if a regular member may conflict with a newcomer that has this id and no rank table. An empty id means
  // that the newcomer will get a name. Conflicts are: an equal number, numbers together with names, an equal node rank.
  // It may report a conflict where there is none, but never misses one.
  bool MayClash(const std::string& id, const v1::NodeInfo& info) const;

  bool operator==(const SlotCounts&) const = default;

 private:
  static size_t Index(v1::Role role) { return role == v1::ROLE_SERVER ? 1 : 0; }
  void Count(const std::string& id, const v1::NodeInfo& info, bool is_spare, int by);

  uint32_t regular_slots_[2] = {0, 0};
  uint32_t spare_slots_[2] = {0, 0};
  // Counts of regular members, by how they get their ranks. Entries that fall to zero are dropped.
  uint32_t by_name_ = 0;
  uint32_t by_number_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> numbers_;
  absl::flat_hash_map<uint32_t, uint32_t> node_ranks_;
};

// Counts a run's lost nodes, and finds the one that a newcomer without an id replaces, without a look at all nodes.
class LostNodes {
 public:
  // Call Remove before and Add after each change to the node's is_lost or stale_incarnation, or to whether it exists.
  // Both do nothing for a node that isn't lost.
  void Remove(const Node& node) { Count(node, -1); }
  void Add(const Node& node) { Count(node, 1); }

  uint32_t size() const { return size_; }

  // Returns the id of the lost node that a newcomer without an id of its own replaces; empty: there is none. A node
  // is replaced only if it, too, had no id of its own, and has no running processes. Prefers a node on the newcomer's
  // machine, then one on a host with the newcomer's host name, then any other. Among equals, takes the one with the
  // lowest id.
  std::string FindReplaced(const v1::NodeInfo& newcomer, const std::string& identity) const;

  bool operator==(const LostNodes&) const = default;

 private:
  enum class Place { kMachine, kHost, kAnywhere };
  // The owner's identity, the role, the number of slots, the kind of place, and the place (machine id or host name).
  using PlaceKey = std::tuple<std::string, v1::Role, int, Place, std::string>;

  static PlaceKey KeyOf(const std::string& identity, const v1::NodeInfo& info, Place place);
  void Count(const Node& node, int by);

  uint32_t size_ = 0;
  std::map<PlaceKey, std::set<std::string>> ids_by_key_;
};

}  // namespace muster::scheduler
