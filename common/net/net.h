// Host names, local addresses and sockets. Name look-ups block, so never call these functions in a loop's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/net/ip_address.h"

namespace muster {

// Returns all addresses of a host name, or the numeric address itself, without link-local ones. kUnavailable: the name
// can't be resolved now, and may be later.
absl::StatusOr<std::vector<IpAddress>> ResolveHost(const std::string& host);

// The same, with link-local addresses.
absl::StatusOr<std::vector<IpAddress>> LookUpHost(const std::string& host);

// True if an interface of this network namespace has the address (127.0.0.0/8 and ::1 included).
bool IsLocalAddress(const IpAddress& address);

// Returns the local address from which a connection to `remote` would come. Connects a UDP socket to find it; sends
// nothing.
absl::StatusOr<IpAddress> LocalAddressTowards(const IpAddress& remote);

// Returns the numeric local address of a connected socket; empty if it has none, or if it is no IP socket.
std::string LocalEndOf(int socket_fd);

// Returns this machine's address on the interface of the default route. Prefers IPv4 to IPv6. nullopt if there is no
// such route, or if it leads to loopback. Sends nothing.
std::optional<IpAddress> DefaultRouteAddress();

// Returns a UDP socket connected to `remote`: non-blocking, close-on-exec. Sends nothing. If there is no route, returns
// a closed descriptor and sets errno.
UniqueFd OpenDatagramsTowards(const IpAddress& remote, uint16_t port);

// Returns gethostname's result; "localhost" if that fails.
std::string LocalHostName();

// The number of connections that the server has.
enum class Crowd { kFew, kMany };
inline constexpr size_t kManyConnections = 1000;

// Lets the kernel detect a dead peer. The connection breaks so long after the peer's last packet, whether or not data
// is in flight:
//
//   kFew    within 8 to 10 s    TCP_USER_TIMEOUT 8 s; keepalive after 3 to 5 s of silence, in steps of 1 to 2 s
//   kMany   within 25 to 28 s   TCP_USER_TIMEOUT 25 s; keepalive after 6 to 14 s of silence, in steps of 2 to 4 s
//
// The keepalive times are random for each socket. When a round is sent over 12,500 connections at one instant, these
// connections become silent together. With equal times they would also send their probes together, more than the
// kernel's queues hold (netdev_max_backlog, a NIC's ring). Probes would be dropped again and again, until connections
// break.
void SetDeadPeerDetection(int socket_fd, Crowd crowd = Crowd::kMany);

// Sets dead-peer detection on every TCP socket of this process that is connected to one of `addresses` at `port`.
// Needed because gRPC 1.51 has no public way to reach a channel's socket. Returns how many sockets were found.
int SetDeadPeerDetectionTowards(const std::vector<IpAddress>& addresses, uint16_t port, Crowd crowd = Crowd::kMany);

// Returns the name of the user that runs this process, or the user's number if it has no name.
std::string LocalUserName();

}  // namespace muster
