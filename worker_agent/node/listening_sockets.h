// Finds out from the kernel's list if a process listens on a local address and port. A test by connecting would leave
// an unexplained connection behind at the listener.
#pragma once

#include <cstdint>
#include <string>

#include "common/net/ip_address.h"

namespace muster::agent {

// `proc_net_tcp` is the text of /proc/net/tcp or tcp6. A socket that listens on all addresses counts. Pure.
bool HasListener(const std::string& proc_net_tcp, const IpAddress& address, uint16_t port);

// True for a listener in this network namespace.
bool IsListenedOn(const IpAddress& address, uint16_t port);

}  // namespace muster::agent
