#include "scheduler/core/liveness/lost_nodes.h"

#include <utility>

#include "scheduler/core/state.h"

namespace muster::scheduler {

LostNodes::Seat LostNodes::SeatOf(const std::string& identity, const v1::NodeInfo& info, Place place) {
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
    const Seat seat = SeatOf(node.record().identity, node.record().info, place);
    std::set<std::string>& ids = seats_[seat];
    by > 0 ? void(ids.insert(node.record().id)) : void(ids.erase(node.record().id));
    if (ids.empty()) seats_.erase(seat);
  }
}

std::string LostNodes::SeatFor(const v1::NodeInfo& newcomer, const std::string& identity) const {
  for (const Place place : {Place::kMachine, Place::kHost, Place::kAnywhere}) {
    std::string first;
    // What joined without an identity belongs to nobody.
    for (const std::string& owner : {std::string(), identity}) {
      const auto seat = seats_.find(SeatOf(owner, newcomer, place));
      if (seat != seats_.end() && (first.empty() || *seat->second.begin() < first)) first = *seat->second.begin();
    }
    if (!first.empty()) return first;
  }
  return "";
}

}  // namespace muster::scheduler
