// Sockets of the ring: nonblocking, closed on exec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"
#include "ring/frames.h"

namespace muster::ring {

// Returns a socket that connects or is connected; if it fails at once, one that is not open, and sets *error.
UniqueFd StartConnecting(const IpAddress& address, uint16_t port, int* error);

// Listens on all addresses of both families (else of IPv4), with SO_REUSEADDR: the agent holds the port until now.
absl::StatusOr<UniqueFd> ListenOn(uint16_t port);

// Returns a closed descriptor if no connection waits. `from` is the peer's address.
UniqueFd AcceptOne(int listener, std::optional<IpAddress>* from);

// Sends small messages without delay, and limits the kernel's unsent bytes to what keeps the link busy, so that the
// check measures the link and not a buffer.
void TuneSocket(int fd);

// Describes how `found` differs from `wanted`.
std::string HelloDifference(const Hello& found, const Hello& wanted);

}  // namespace muster::ring
