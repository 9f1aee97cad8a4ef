// Finds the device of each rank in the rank table.
//
// A node joins before it has ranks. So it can name its devices in the join only if it has as many slots as its server
// has devices. If several agents share a server, their devices are known only once a round has given them ranks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/launch/rank_table.h"

namespace muster::agent {

// Device id and address of each rank, of all servers in the table.
using TableDevices = std::map<uint32_t, v1::SlotOffer>;
TableDevices DevicesByRank(const RankTable& table);

// Fills in the devices in `offers` (this node's, by slot), and in `peers` for peers that have offered none. `peers` may
// be null. Does nothing unless all ranks of this node are those of its server in the table. That is not so if this
// node is a spare that replaces a node of another server, or if some node joined without the table.
void SetDevices(const TableDevices& table, const v1::NodeInfo& node, const v1::Assignment& assignment,
                std::vector<v1::SlotOffer>& offers, v1::PeerList* peers);

}  // namespace muster::agent
