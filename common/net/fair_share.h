// Groups addresses into clients and networks, wherever unknown clients share room.
//
// One IPv4 address counts as one client, a NAT's too. A host with one IPv6 address has its whole /64, so that counts as
// one client. It costs little to have many neighbouring addresses: an IPv4 /24, an IPv6 /48. Where a flood from that
// many clients would shut out others, such networks share the room first. Pure.
#pragma once

#include <string>

#include "common/net/ip_address.h"

namespace muster {

// Returns the first address of the client's share: 10.0.0.1; 2001:db8:0:1:: for all of that /64. An IPv4 address that
// is mapped into IPv6 counts as that IPv4 address.
IpAddress FairShare(const IpAddress& address);
// Returns the same for people: "10.0.0.1", "2001:db8:0:1::/64".
std::string FairShareName(const IpAddress& address);

// Returns the principal of a connection: its certificate's name, if it shows one, else FairShareName of its address.
std::string PrincipalOf(const std::string& identity, const std::string& address);

// Returns the first address of its network: 10.0.0.0; 2001:db8::.
IpAddress FairNetwork(const IpAddress& address);

}  // namespace muster
