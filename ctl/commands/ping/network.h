// Checks whether the network lets this machine reach a port, without using the port's protocol.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/net/ip_address.h"

namespace muster::ctl {

// Tries to connect. Returns 0 if it succeeds, or else the errno.
int ErrorOfConnecting(const IpAddress& address, uint16_t port, absl::Duration timeout);
// Sends an empty datagram. Returns the errno if the other machine or a firewall refuses it, or else 0. It can't notice
// that a datagram is dropped silently. Takes 0.3 s.
int ErrorOfDatagrams(const IpAddress& address, uint16_t port);

// Returns the advice for a connection that failed with this errno.
std::string RemedyOf(int error);

}  // namespace muster::ctl
