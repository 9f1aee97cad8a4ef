// Whom an address is counted with wherever room is shared among strangers.
//
// One IPv4 address is one party, a NAT's too. Of IPv6 whoever has one address has its whole /64, so that is one party.
// And it costs little to have many parties that stand together: an IPv4 /24, an IPv6 /48. Where a flood from as many
// parties would shut out others, room is shared among such networks first. Pure.
#pragma once

#include <string>

#include "common/net/ip_address.h"

namespace muster {

// The first address of its party: 10.0.0.1; 2001:db8:0:1:: for all of that /64. An IPv4 address that is mapped into
// IPv6 is that IPv4 address.
IpAddress FairShare(const IpAddress& address);
// The party, for people: "10.0.0.1", "2001:db8:0:1::/64".
std::string FairShareName(const IpAddress& address);

// Of a connection: the certificate's name, if it shows one, else the party of its address; both as text.
std::string PartyOf(const std::string& identity, const std::string& address);

// The first address of its network: 10.0.0.0; 2001:db8::.
IpAddress FairNetwork(const IpAddress& address);

}  // namespace muster
