// Finds out from the kernel's list of sockets whether a process listens on a local address and port. (Connecting would
// show that, too, but the listener would see a connection that it can't explain.)
#pragma once

#include <cstdint>
#include <string>

#include "common/net/ip_address.h"

namespace muster::agent {

// True if the list has a socket that listens on the address, or on all addresses, at that port. `proc_net_tcp` is the
// text of /proc/net/tcp or tcp6. Pure.
bool HasListener(const std::string& proc_net_tcp, const IpAddress& address, uint16_t port);

// True if a process of this network namespace listens there.
bool IsListenedOn(const IpAddress& address, uint16_t port);

}  // namespace muster::agent
