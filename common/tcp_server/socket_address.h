// Makes TCP sockets. Takes only numeric addresses; no function blocks.
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

// Returns a listening, nonblocking socket, bound with SO_REUSEADDR. On IPv6's any address (::) it also accepts IPv4.
// The error names address, port and `for_whom`. kAlreadyExists: the port is taken.
absl::StatusOr<UniqueFd> ListenOn(const IpAddress& address, uint16_t port, int backlog, const std::string& for_whom);

// Returns the next client's socket, nonblocking. If there is none, returns a closed descriptor and sets errno.
UniqueFd AcceptFrom(int listener, SocketAddress& from);

// Returns a nonblocking socket that is connecting to `to`. If it can't begin, returns a closed descriptor and sets
// errno.
UniqueFd StartConnecting(const SocketAddress& to);

absl::StatusOr<SocketAddress> LocalEnd(int socket);

}  // namespace muster
