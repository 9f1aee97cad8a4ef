// Accessors for the slots in a node's entry of a peer list. If a node's ranks count up (as nearly always), its entry
// has only the first rank. Slots count from 0. Reading a value that a malformed list lacks gives zero or an empty text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/v1/types.pb.h"

namespace muster {

inline int SlotCount(const v1::PeerNode& node) { return node.ring_ports_size(); }
inline uint32_t RankOf(const v1::PeerNode& node, int slot) {
  return slot < node.ranks_size() ? node.ranks(slot) : node.first_rank() + static_cast<uint32_t>(slot);
}
inline uint32_t LocalRankOf(const v1::PeerNode& node, int slot) {
  return slot < node.local_ranks_size() ? node.local_ranks(slot)
                                        : node.first_local_rank() + static_cast<uint32_t>(slot);
}
inline std::string DeviceIdOf(const v1::PeerNode& node, int slot) {
  return slot < node.device_ids_size() ? node.device_ids(slot) : "";
}
inline std::string DeviceAddressOf(const v1::PeerNode& node, int slot) {
  return slot < node.device_addresses_size() ? node.device_addresses(slot) : "";
}
inline std::string SuperDeviceIdOf(const v1::PeerNode& node, int slot) {
  return slot < node.super_device_ids_size() ? node.super_device_ids(slot) : "";
}

inline bool CountUp(const std::vector<uint32_t>& numbers) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[0] + i) return false;
  }
  return !numbers.empty();
}
// `ranks` has one rank for each slot.
inline void SetRanks(const std::vector<uint32_t>& ranks, v1::PeerNode& node) {
  if (CountUp(ranks)) return node.set_first_rank(ranks[0]);
  node.mutable_ranks()->Assign(ranks.begin(), ranks.end());
}
inline void SetLocalRanks(const std::vector<uint32_t>& ranks, v1::PeerNode& node) {
  if (CountUp(ranks)) return node.set_first_local_rank(ranks[0]);
  node.mutable_local_ranks()->Assign(ranks.begin(), ranks.end());
}

}  // namespace muster
