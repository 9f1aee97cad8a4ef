#include "scheduler/core/membership/slot_counts.h"

#include "scheduler/core/membership/rank_order.h"

namespace muster::scheduler {
namespace {

void CountIn(absl::flat_hash_map<uint32_t, uint32_t>& counts, uint32_t key, int by) {
  const auto counted = counts.try_emplace(key, 0).first;
  counted->second += static_cast<uint32_t>(by);
  if (counted->second == 0) counts.erase(counted);
}

}  // namespace

void SlotCounts::Count(const std::string& id, const v1::NodeInfo& info, bool is_spare, int by) {
  const uint32_t slots = static_cast<uint32_t>(by * info.slots_size());
  if (is_spare) {
    spare_slots_[Index(info.role())] += slots;
    return;
  }
  regular_slots_[Index(info.role())] += slots;
  if (info.has_node_rank()) CountIn(node_ranks_, info.node_rank(), by);
  if (info.table_ranks_size() > 0 || info.has_node_rank()) return;
  if (const auto number = NumericId(id)) {
    by_number_ += static_cast<uint32_t>(by);
    CountIn(numbers_, *number, by);
  } else {
    by_name_ += static_cast<uint32_t>(by);
  }
}

bool SlotCounts::MayClash(const std::string& id, const v1::NodeInfo& info) const {
  if (info.has_node_rank()) return node_ranks_.contains(info.node_rank());
  if (!IsAllDigits(id)) return by_number_ > 0;
  const auto number = NumericId(id);
  return by_name_ > 0 || !number || numbers_.contains(*number);
}

}  // namespace muster::scheduler
