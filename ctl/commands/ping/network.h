// The way to a port, without what is spoken there.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/net/ip_address.h"

namespace muster::ctl {

// Both give an errno; 0: nothing is in the way.
int ErrorOfConnecting(const IpAddress& address, uint16_t port, absl::Duration timeout);
// Whether a datagram is refused, by the kernel there or a firewall. What drops it in silence is not seen. Takes 0.3 s.
int ErrorOfDatagrams(const IpAddress& address, uint16_t port);

// What to do where no connection can be made.
std::string RemedyOf(int error);

}  // namespace muster::ctl
