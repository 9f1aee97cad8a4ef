// Turns ranks into places: machines, local ranks, the peer list of a round, and each node's part of it.
// Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/places/round_addresses.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Builds the peer list of a round in which exactly `members` hold ranks. It has workers first, then servers; within a
// role, nodes are in the order of their first ranks, and each node's slots in slot order. In the first round
// AssignRanks gives the ranks. In later rounds each node keeps its ranks, and a spare gets the ranks of the node for
// which it stands in: `stands_for` has this node by the spare's id. For `addresses` see ChooseAddresses.
v1::PeerList BuildPeerList(const Run& run, uint32_t round, const std::vector<const Node*>& members,
                           const std::map<std::string, const Node*>& stands_for = {},
                           const OtherAddresses& addresses = {});

// The address at which rank 0 of the workers accepts connections (rank 0 of the servers, if there are no workers). It
// is the user's MASTER_ADDR and MASTER_PORT if they are set on that node; else the node's address for its peers, and
// the port that its agent has reserved. A loopback MASTER_ADDR (Debian's 127.0.1.1) does not count in a round of
// several machines if the peers get another address.
struct Master {
  std::string address;
  uint32_t port = 0;
};
Master MasterOf(const Run& run, const v1::PeerList& peers);

// Fills in the assignment of `node` in the current round. Does nothing if the node holds no ranks. Its time does not
// grow with the number of nodes.
void FillAssignment(const Run& run, const Node& node, v1::Assignment& assignment);

// Finds ranks in a peer list, which must outlive the index.
class PeerIndex {
 public:
  explicit PeerIndex(const v1::PeerList& peers);

  struct Place {
    const v1::PeerNode* node = nullptr;
    int slot = 0;
  };
  Place At(v1::Role role, uint32_t rank) const;
  uint32_t LocalWorldSize(v1::Role role, uint32_t machine) const;
  uint32_t Size(v1::Role role) const;
  const v1::PeerNode* Find(const std::string& node_id) const;

 private:
  std::vector<Place> workers_, servers_;
  std::vector<uint32_t> local_workers_, local_servers_;
  absl::flat_hash_map<absl::string_view, const v1::PeerNode*> by_id_;
};

// Returns the index of the current round's peer list. The first call for a round makes the index.
const PeerIndex& IndexOf(const Run& run);

}  // namespace muster::scheduler
