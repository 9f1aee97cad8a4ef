// TCP sockets: numeric addresses only, nothing blocks.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"

namespace muster {

struct SocketAddress {
  IpAddress address = *IpAddress::Parse("127.0.0.1");
  uint16_t port = 0;
};

// Returns a listening socket, bound with SO_REUSEADDR; nonblocking. IPv6's any address takes IPv4, too. The error names
// address, port and `for_whom`; kAlreadyExists: the port is taken.
absl::StatusOr<UniqueFd> ListenOn(const IpAddress& address, uint16_t port, int backlog, const std::string& for_whom);

// Returns the next client, nonblocking, or none with errno set.
UniqueFd AcceptFrom(int listener, SocketAddress& from);

// Returns a nonblocking socket that is connecting; not open, with errno, if it can't begin.
UniqueFd StartConnecting(const SocketAddress& to);

absl::StatusOr<SocketAddress> LocalEnd(int socket);

}  // namespace muster
