// Whether somebody listens on a local address and port, from the kernel's list: asking by connecting would leave an
// unexplained connection behind at the one who listens.
#pragma once

#include <cstdint>
#include <string>

#include "common/net/ip_address.h"

namespace muster::agent {

// `proc_net_tcp` is the text of /proc/net/tcp or tcp6. One that listens on all addresses counts. Pure.
bool HasListener(const std::string& proc_net_tcp, const IpAddress& address, uint16_t port);

// In this network namespace.
bool IsListenedOn(const IpAddress& address, uint16_t port);

}  // namespace muster::agent
