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

// Builds the peer list of a round in which exactly `members` hold ranks: workers first, then servers, nodes by their
// first rank. A node's slots are in slot order. In the first round AssignRanks gives the ranks. Later each node keeps
// its own, and one that `stands_for` another (found by its own id) takes that one's. `addresses`: see ChooseAddresses.
v1::PeerList BuildPeerList(const Run& run, uint32_t round, const std::vector<const Node*>& members,
                           const std::map<std::string, const Node*>& stands_for = {},
                           const OtherAddresses& addresses = {});

// The address at which rank 0 of the workers (of the servers, if there are no workers) takes its connections: the
// user's MASTER_ADDR and MASTER_PORT if that node has them, else the address that its peers get and the port it has
// reserved. A MASTER_ADDR that is loopback to that node (Debian's 127.0.1.1) does not count if its peers get another
// address.
struct Master {
  std::string address;
  uint32_t port = 0;
};
Master MasterOf(const Run& run, const v1::PeerList& peers);

// Fills in what `node` gets of the current round; nothing if it holds no ranks. It takes the same time however many
// nodes there are.
void FillAssignment(const Run& run, const Node& node, v1::Assignment& assignment);

// Finds ranks in a peer list. Keeps a reference to it.
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

// Returns the index of the current round; it is made once for all its nodes.
const PeerIndex& IndexOf(const Run& run);

}  // namespace muster::scheduler
