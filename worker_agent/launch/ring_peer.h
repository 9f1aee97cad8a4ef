// Who stands before and behind a rank in the ring. The scheduler tells of ranks on other nodes only; what stands on
// this one follows from what the node itself offered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "worker_agent/launch/cluster_file.h"

namespace muster::agent {

struct RingPeer {
  uint32_t rank = 0;
  std::string node_id;
  std::string host;
  std::string address;  // numeric
  uint32_t port = 0;
  std::string fingerprint;  // SHA-256 in hex; empty: none
};

// Of an own slot's rank. None if it was not told and is none of this node's.
std::optional<RingPeer> PreviousInRing(const ClusterFileInput& input, int slot);
std::optional<RingPeer> NextInRing(const ClusterFileInput& input, int slot);

// The ranks of the node's own role.
uint32_t RingSize(const v1::Assignment& assignment);

// Of 4 or 16 bytes; empty for anything else.
std::string AddressText(const std::string& bytes);

}  // namespace muster::agent
