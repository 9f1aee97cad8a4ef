// A link is served where all of this holds:
//
//   it is of this job, run and round, and names a node of the round
//   its address      is one that this node has told, or of --torch_store_peers, or of this machine for a node of it
//   with TLS         the certificate is that node's (WhyNotNode)
#include "worker_agent/gateway/torch_store/peer_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/peer_node.h"

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

LinkRules::LinkRules(const v1::PeerList& peers, std::vector<IpNetwork> networks)
    : job_(peers.job_id()), run_(peers.run()), round_(peers.round()), networks_(std::move(networks)) {
  for (const v1::PeerNode& peer : peers.nodes()) {
    Node& node = nodes_[peer.node_id()];
    node.ranks = static_cast<size_t>(SlotCount(peer));
    node.is_here = peer.machine() == peers.nodes(0).machine();
    if (const auto address = IpAddress::FromBytes(peer.address())) node.addresses.insert(*address);
    for (const std::string& other : peer.other_addresses()) {
      if (const auto address = IpAddress::FromBytes(other)) node.addresses.insert(*address);
    }
  }
}

std::string LinkRules::WhyNot(const torch_store::LinkHello& hello, const IpAddress& from, bool is_here) const {
  if (hello.job != job_ || hello.run != run_ || hello.round != round_) return "its link is of another round";
  const auto node = nodes_.find(hello.node);
  if (node == nodes_.end()) return absl::StrCat(EscapeControl(hello.node), " is no node of this round");
  const bool is_known =
      node->second.addresses.contains(from) || (is_here && node->second.is_here) ||
      std::any_of(networks_.begin(), networks_.end(), [&](const IpNetwork& network) { return network.Contains(from); });
  if (is_known) return "";
  return absl::StrCat(EscapeControl(hello.node), " has not told that address; if it is one of its that it can't know ",
                      "(NAT), start rank 0's ms-worker with --torch_store_peers=", from.ToString());
}

size_t LinkRules::RanksOf(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.ranks;
}

std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node) {
  if (!name || (name->CoversJob(job) && name->CoversNode(node))) return "";
  return absl::StrCat("its certificate is of ", name->ToUri(), ", which is not ", EscapeControl(node), " of job ",
                      EscapeControl(job));
}

}  // namespace muster::agent
