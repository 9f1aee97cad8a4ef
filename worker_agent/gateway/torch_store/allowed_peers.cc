#include "worker_agent/gateway/torch_store/allowed_peers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::agent {

AllowedPeers::AllowedPeers(const v1::PeerList& peers, std::vector<IpNetwork> networks)
    : networks_(std::move(networks)) {
  const auto add = [this](const std::string& bytes) {
    if (const auto address = IpAddress::FromBytes(bytes)) addresses_.insert(*address);
  };
  for (const v1::PeerNode& node : peers.nodes()) {
    add(node.address());
    for (const std::string& other : node.other_addresses()) add(other);
  }
}

bool AllowedPeers::Contains(const IpAddress& address) const {
  return addresses_.contains(address) || std::any_of(networks_.begin(), networks_.end(), [&](const IpNetwork& network) {
           return network.Contains(address);
         });
}

std::string WhyNotInRound(const IpAddress& address) {
  return absl::StrCat(
      "no machine of this round has told that address; if it is one of theirs that they can't know (NAT), ",
      "start rank 0's ms-worker with --torch_store_peers=", address.ToString());
}

}  // namespace muster::agent
