// A round's peer list: the check that it is the announced one, and a rank's neighbours in the ring. The scheduler sends
// only ranks on other nodes; those on this one follow from the node's own offer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/launch/cluster_file.h"

namespace muster::agent {

// Parses a serialised PeerList, which may have come from anywhere. An error when its SHA-256 is not
// desired.peers_digest, when it is of another job, run or round, or when it is too large.
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

// Returns the neighbour of an own slot's rank. None if it was not sent and is none of this node's.
std::optional<RingPeer> PreviousInRing(const ClusterFileInput& input, int slot);
std::optional<RingPeer> NextInRing(const ClusterFileInput& input, int slot);

// Returns the number of ranks of the node's own role.
uint32_t RingSize(const v1::Assignment& assignment);

// Returns the text of an address of 4 or 16 bytes; empty for anything else.
std::string AddressText(const std::string& bytes);

}  // namespace muster::agent
