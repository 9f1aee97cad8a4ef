#include "scheduler/core/state/node_index.h"

#include <utility>

#include "common/base/ids.h"
#include "scheduler/core/state/state.h"

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

LostNodes::PlaceKey LostNodes::KeyOf(const std::string& identity, const v1::NodeInfo& info, Place place) {
  std::string where;
  if (place == Place::kMachine) where = info.machine_id();
  if (place == Place::kHost) where = info.host_name();
  return {identity, info.role(), info.slots_size(), place, std::move(where)};
}

void LostNodes::Count(const Node& node, int by) {
  if (!node.record().is_lost) return;
  size_ += static_cast<uint32_t>(by);
  if (!node.record().is_assigned_id || node.record().stale_incarnation != 0) return;
  for (const Place place : {Place::kMachine, Place::kHost, Place::kAnywhere}) {
    const PlaceKey key = KeyOf(node.record().identity, node.record().info, place);
    std::set<std::string>& ids = ids_by_key_[key];
    by > 0 ? void(ids.insert(node.record().id)) : void(ids.erase(node.record().id));
    if (ids.empty()) ids_by_key_.erase(key);
  }
}

std::string LostNodes::FindReplaced(const v1::NodeInfo& newcomer, const std::string& identity) const {
  for (const Place place : {Place::kMachine, Place::kHost, Place::kAnywhere}) {
    std::string first;
    // Anybody may replace a node that joined without an identity: it belongs to no one.
    for (const std::string& owner : {std::string(), identity}) {
      const auto found = ids_by_key_.find(KeyOf(owner, newcomer, place));
      if (found != ids_by_key_.end() && (first.empty() || *found->second.begin() < first))
        first = *found->second.begin();
    }
    if (!first.empty()) return first;
  }
  return "";
}

}  // namespace muster::scheduler
