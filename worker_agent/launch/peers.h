// Checks a round's peer list, and finds a rank's neighbours in the ring. With an assignment the scheduler sends only
// the neighbours on other nodes; those on this node are found in the node's own offer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/launch/cluster_file.h"

namespace muster::agent {

// Parses a serialised PeerList, and checks it, since it need not come from the scheduler itself. It is an error if its
// SHA-256 is not desired.peers_digest, if it is another job's, run's or round's, or if it is too large.
absl::StatusOr<v1::PeerList> CheckedPeerList(const std::string& serialised, const std::string& job_id,
                                             const v1::DesiredState& desired);

struct RingPeer {
  uint32_t rank = 0;
  std::string node_id;
  std::string host;
  std::string address;  // numeric
  uint32_t port = 0;
  std::string fingerprint;  // SHA-256 in hex; empty: none
};

// Return the neighbour of the rank of this node's `slot`. nullopt: the neighbour is on another node, and the scheduler
// has not sent it.
std::optional<RingPeer> PreviousInRing(const ClusterFileInput& input, int slot);
std::optional<RingPeer> NextInRing(const ClusterFileInput& input, int slot);

// Returns the number of ranks of the node's own role.
uint32_t RingSize(const v1::Assignment& assignment);

// Returns the text of an address that has 4 or 16 bytes; empty for any other length.
std::string AddressText(const std::string& bytes);

}  // namespace muster::agent
