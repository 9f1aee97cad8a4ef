// Checks the network's way to a port, without its protocol.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/net/ip_address.h"

namespace muster::ctl {

// Both return an errno; 0: nothing is in the way.
int ErrorOfConnecting(const IpAddress& address, uint16_t port, absl::Duration timeout);
// Checks whether the kernel there or a firewall refuses a datagram. It can't see one that is dropped silently. Takes
// 0.3 s.
int ErrorOfDatagrams(const IpAddress& address, uint16_t port);

// Returns the advice for a connection that fails.
std::string RemedyOf(int error);

}  // namespace muster::ctl
