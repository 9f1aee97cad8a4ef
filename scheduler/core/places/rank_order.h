// The order in which nodes get their ranks. A pure function: equal nodes give an equal order, whichever node came
// first.
//
// For each role, the first of these rules that fits decides:
//   1. By the rank table, if every node has its server's ranks in it.
//   2. By address and node id, if address order is forced.
//   3. By node rank, if all nodes have one.
//   4. By node id, if all ids are numbers.
//   5. By label path, then address, then node id. Addresses, and numbers in an id, are compared as numbers. If a user's
//      MASTER_ADDR names a machine, this machine comes first.
//
// A node that was started as a spare does not count for rules 3 and 4, unless all nodes are spares. It gets ranks that
// the other nodes leave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/v1/types.pb.h"

namespace muster::scheduler {

struct OrderedNode {
  std::string id;
  const v1::NodeInfo* info = nullptr;
  std::string address = {};  // the address that its peers get; empty: info->address()
};

// Returns the ranks of each node's slots: result[i] has those of nodes[i], in slot order. Over all nodes they are a
// permutation of 0..slots-1; a rank table or ids that would give no permutation are ignored. All nodes must have the
// same role. With `ids_are_ranks`, and if all nodes have one slot, a node with a number as its id gets this rank.
std::vector<std::vector<uint32_t>> AssignRanks(const std::vector<OrderedNode>& nodes, bool forces_address_order,
                                               bool ids_are_ranks);

}  // namespace muster::scheduler
