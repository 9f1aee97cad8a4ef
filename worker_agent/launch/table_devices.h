// The device of each rank, by the rank table.
//
// A node joins before it has ranks, so it can offer its devices only where it has as many slots as its server has
// devices. Where agents share a server only the round decides which of them has which ranks, and so which devices.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/launch/rank_table.h"

namespace muster::agent {

// Device id and address by rank, of all servers.
using TableDevices = std::map<uint32_t, v1::SlotOffer>;
TableDevices DevicesByRank(const RankTable& table);

// Writes devices into `offers` (of this node, by slot) and, where a peer has offered none, into `peers` (null: none).
// Only if the round has given all ranks of this node by the table: a spare from another server has those of the lost
// node, and where a node came without the table the ranks follow other rules.
void SetDevices(const TableDevices& table, const v1::NodeInfo& node, const v1::Assignment& assignment,
                std::vector<v1::SlotOffer>& offers, v1::PeerList* peers);

}  // namespace muster::agent
