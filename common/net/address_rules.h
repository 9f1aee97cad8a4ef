// Rules for addresses in settings, files and messages. Pure.
#pragma once

#include <string>

#include "common/net/ip_address.h"

namespace muster {

// True for addresses in fe80::/10.
inline bool IsLinkLocal(const IpAddress& address) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(address.bytes()[at]); };
  return address.is_v6() && byte(0) == 0xfe && (byte(1) & 0xc0) == 0x80;
}

// The rule for every address that Muster accepts, as a message. A link-local address means nothing without the name of
// an interface (fe80::1%eth0). That name differs from node to node, and peer lists, MASTER_ADDR and rank tables have no
// place for it.
inline constexpr char kNoLinkLocal[] =
    "must not be a link-local IPv6 address (fe80::/10), which is valid on one interface only: use another address of "
    "that machine (ip -6 addr add fd00::1/64 dev NAME gives it one)";

// Returns the host as it must be written before a port or in a URL: puts brackets around an IPv6 address that has none.
inline std::string BracketIpv6(const std::string& host) {
  return host.find(':') != std::string::npos && host.front() != '[' ? "[" + host + "]" : host;
}

}  // namespace muster
