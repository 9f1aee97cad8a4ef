// What admission and closing ask about all nodes of a run, counted as they come and go: a join takes the same time
// however many are there. Part of the state that Evolve keeps; it follows from the nodes.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "muster/v1/types.pb.h"

namespace muster::scheduler {

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

}  // namespace muster::scheduler
