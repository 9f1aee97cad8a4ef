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

// Not open, with *error, when it fails at once; else it is connecting or connected.
UniqueFd StartConnecting(const IpAddress& address, uint16_t port, int* error);

// On all addresses of both families (else of IPv4), with SO_REUSEADDR: the agent holds the port for us until now.
absl::StatusOr<UniqueFd> ListenOn(uint16_t port);

// Not open: nobody waits. `from` is where the connection comes from.
UniqueFd AcceptOne(int listener, std::optional<IpAddress>* from);

// No delay for small messages, and no more unsent bytes in the kernel than keep it busy, so that what is measured is
// the link and not a buffer.
void TuneSocket(int fd);

// How `found` differs from `wanted`, in words.
std::string HelloDifference(const Hello& found, const Hello& wanted);

}  // namespace muster::ring
