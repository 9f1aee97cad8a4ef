// The order in which nodes get their ranks. A pure function: equal nodes give an equal order, whichever came first.
//
// The rule, per role: a rank table, if every node has its server's ranks; else (unless address order is forced) the
// node ranks, if all have one; else, if every node id is a number, by number; else by label path, address as a number,
// and node id with its digits read as numbers. A user's MASTER_ADDR moves that machine to the front of the last order.
// Nodes that were started as spares don't count for the choice of the rule if there are others, and take what these
// leave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/v1/types.pb.h"

namespace muster::scheduler {

struct OrderedNode {
  std::string id;
  const v1::NodeInfo* info = nullptr;
  std::string address = {};  // that its peers get; empty: the info's
};

// Returns the ranks of each node's slots: result[i] are those of nodes[i], in slot order. They are a permutation of
// 0..slots-1 over all nodes; a rank table or ids that give none are ignored. All nodes have one role. With
// `ids_are_ranks`, a node with one slot and a number as its id gets just that rank.
std::vector<std::vector<uint32_t>> AssignRanks(const std::vector<OrderedNode>& nodes, bool forces_address_order,
                                               bool ids_are_ranks);

}  // namespace muster::scheduler
