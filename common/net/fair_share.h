// Groups addresses into clients and networks, for all limits that unknown clients share. Pure.
//
// One IPv4 address counts as one client, even if many hosts are behind it (NAT). One IPv6 host usually has a whole /64,
// so a /64 counts as one client. But many neighbouring addresses cost little. So where a flood from many such clients
// could shut out others, the room is divided among networks (IPv4 /24, IPv6 /48) first, then among their clients.
#pragma once

#include <string>

#include "common/net/ip_address.h"

namespace muster {

// Returns the first address of the client: 10.0.0.1 for itself; 2001:db8:0:1:: for all of that /64. An IPv4 address
// that is mapped into IPv6 counts as the IPv4 address.
IpAddress FairShare(const IpAddress& address);
// Returns the same for people: "10.0.0.1", "2001:db8:0:1::/64".
std::string FairShareName(const IpAddress& address);

// Returns the principal of a connection, which is the name that limits for one client count under: the name in its
// certificate if it shows one, else FairShareName of its address.
std::string PrincipalOf(const std::string& identity, const std::string& address);

// Returns the first address of the address's network: 10.0.0.0; 2001:db8::.
IpAddress FairNetwork(const IpAddress& address);

}  // namespace muster
