// The ring's sockets. All are nonblocking and close-on-exec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"
#include "ring/frames.h"

namespace muster::ring {

// Returns a socket that is connecting or connected. If connecting fails at once, returns one that is not open, and sets
// *error to the errno.
UniqueFd StartConnecting(const IpAddress& address, uint16_t port, int* error);

// Listens on all IPv6 and IPv4 addresses; without IPv6, on all IPv4 addresses. Uses SO_REUSEADDR, because the agent
// kept the port bound until now, to reserve it.
absl::StatusOr<UniqueFd> ListenOn(uint16_t port);

// Accepts a connection and sets *from to the peer's address. Returns a descriptor that is not open if no connection
// waits.
UniqueFd AcceptOne(int listener, std::optional<IpAddress>* from);

// Makes the socket send small messages without delay. Also limits the unsent bytes in the kernel to what keeps the link
// busy, so that the check measures the link and not the kernel's buffer.
void TuneSocket(int fd);

// Returns a sentence that says how `found` differs from `wanted`.
std::string HelloDifference(const Hello& found, const Hello& wanted);

}  // namespace muster::ring
