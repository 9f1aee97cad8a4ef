// Whom the store serves: connections of processes, and links of agents (--torch_store_relay). TCPStore knows no
// password, so without links an address is all that tells a process of the round from a stranger. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "common/net/ip_network.h"
#include "common/tls/peer/peer_name.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/gateway/torch_store/relay/hello.h"

namespace muster::agent {

class AllowedPeers {
 public:
  // The machines of the round, by all addresses that they have told, and `networks`.
  AllowedPeers(const v1::PeerList& peers, std::vector<IpNetwork> networks);

  // Besides this machine's own.
  bool Contains(const IpAddress& address) const;

 private:
  std::set<IpAddress> addresses_;
  std::vector<IpNetwork> networks_;
};

// Why a process of that address is not served, with what to do.
std::string WhyNotInRound(const IpAddress& address);

// The links of the round's agents.
class LinkRules {
 public:
  // `networks`: addresses of agents that their machines don't know themselves (NAT).
  LinkRules(const v1::PeerList& peers, std::vector<IpNetwork> networks);

  // Why the link that begins so is not served; empty: it is. `is_here`: it comes from this machine.
  std::string WhyNot(const torch_store::LinkHello& hello, const IpAddress& from, bool is_here) const;
  // How many ranks a node of the round has; 0: it is none.
  size_t RanksOf(const std::string& node) const;

 private:
  struct Node {
    std::set<IpAddress> addresses;
    size_t ranks = 0;
    bool is_here = false;  // on the machine of rank 0
  };
  const std::string job_;
  const uint64_t run_;
  const uint32_t round_;
  const std::vector<IpNetwork> networks_;
  std::map<std::string, Node> nodes_;
};

// Why a certificate with this name is not that of `node`'s agent; empty: it is, or names don't count (none).
std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node);

}  // namespace muster::agent
