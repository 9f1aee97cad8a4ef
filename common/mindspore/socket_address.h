// TCP sockets of MindSpore's server: numeric addresses only, nothing blocks.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"

namespace muster::mindspore {

struct SocketAddress {
  IpAddress address = *IpAddress::Parse("127.0.0.1");
  uint16_t port = 0;
};

// Bound with SO_REUSEADDR; nonblocking. The error names address and port; kAlreadyExists: the port is taken.
absl::StatusOr<UniqueFd> ListenOn(const IpAddress& address, uint16_t port, int backlog);

// The next client, nonblocking, or none with errno set.
UniqueFd AcceptFrom(int listener, SocketAddress& from);

absl::StatusOr<SocketAddress> LocalEnd(int socket);

}  // namespace muster::mindspore
