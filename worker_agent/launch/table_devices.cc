#include "worker_agent/launch/table_devices.h"

#include <algorithm>
#include <utility>

#include "common/net/peer_node.h"

namespace muster::agent {
namespace {

bool HasTableRanks(const v1::NodeInfo& node, const v1::Assignment& assignment) {
  const auto& own = node.table_ranks();
  return assignment.role() == v1::ROLE_WORKER &&
         std::all_of(assignment.slots().begin(), assignment.slots().end(), [&](const v1::SlotAssignment& slot) {
           return std::find(own.begin(), own.end(), slot.rank()) != own.end();
         });
}

void SetDevices(const TableDevices& table, v1::PeerNode& peer) {
  if (peer.role() != v1::ROLE_WORKER || peer.device_ids_size() > 0) return;
  v1::PeerNode with_devices = peer;
  for (int slot = 0; slot < SlotCount(peer); ++slot) {
    const auto found = table.find(RankOf(peer, slot));
    if (found == table.end()) return;
    with_devices.add_device_ids(found->second.device_id());
    with_devices.add_device_addresses(found->second.device_address());
  }
  peer = std::move(with_devices);
}

}  // namespace

TableDevices DevicesByRank(const RankTable& table) {
  TableDevices devices;
  for (const TableServer& server : table.servers) {
    const std::vector<uint32_t> ranks = TableRanks(server);
    const std::vector<v1::SlotOffer> offers = TableOffers(server);
    for (size_t i = 0; i < ranks.size(); ++i) devices[ranks[i]] = offers[i];
  }
  return devices;
}

void SetDevices(const TableDevices& table, const v1::NodeInfo& node, const v1::Assignment& assignment,
                std::vector<v1::SlotOffer>& offers, v1::PeerList* peers) {
  if (table.empty() || !HasTableRanks(node, assignment)) return;
  for (size_t slot = 0; slot < offers.size() && slot < static_cast<size_t>(assignment.slots_size()); ++slot) {
    const auto found = table.find(assignment.slots(static_cast<int>(slot)).rank());
    if (found == table.end()) continue;
    offers[slot].set_device_id(found->second.device_id());
    offers[slot].set_device_address(found->second.device_address());
  }
  if (peers == nullptr) return;
  for (v1::PeerNode& peer : *peers->mutable_nodes()) SetDevices(table, peer);
}

}  // namespace muster::agent
