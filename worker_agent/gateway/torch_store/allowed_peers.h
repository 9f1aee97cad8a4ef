// Whose connections the store takes: TCPStore knows no password, so an address is all that tells a process of the round
// from a stranger. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "common/net/ip_network.h"
#include "muster/v1/types.pb.h"

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

}  // namespace muster::agent
