// Names, local addresses and sockets. These calls may block (name look-up); never call them in a loop thread.
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
// is not known yet.
absl::StatusOr<std::vector<IpAddress>> ResolveHost(const std::string& host);

// The same with link-local addresses.
absl::StatusOr<std::vector<IpAddress>> LookUpHost(const std::string& host);

// True if an interface of this network namespace has the address (127.0.0.0/8 and ::1 included).
bool IsLocalAddress(const IpAddress& address);

// Returns the local address that a connection to `remote` would come from, by connecting a UDP socket; nothing is sent.
absl::StatusOr<IpAddress> LocalAddressTowards(const IpAddress& remote);

// Returns the local address of a connected socket, numeric; empty if it has none (or is no IP socket).
std::string LocalEndOf(int socket_fd);

// Returns this machine's address on the interface of the default route, IPv4 before IPv6; nullopt if there is no such
// route or it leads to loopback. Nothing is sent.
std::optional<IpAddress> DefaultRouteAddress();

// Returns a UDP socket connected to `remote`: non-blocking, close-on-exec; nothing is sent. Not open, with errno, if
// there is no route.
UniqueFd OpenDatagramsTowards(const IpAddress& remote, uint16_t port);

// Returns gethostname's result; "localhost" if that fails.
std::string LocalHostName();

// Sets dead-peer detection by the kernel: TCP_USER_TIMEOUT 25 s, and keepalive after 6 to 14 s of silence, in steps of
// 2 to 4 s. A vanished machine breaks the connection within 25 to 28 s, whether or not data is in flight.
//
// The times are drawn for each socket. When a round is sent over 12,500 connections at one instant, they would
// otherwise send their probes at one instant, too: more than the kernel's queues hold (netdev_max_backlog, a NIC's
// ring). That would happen again and again, until the connections with dropped probes are given up.
void SetDeadPeerDetection(int socket_fd);

// Sets dead-peer detection on every TCP socket of this process that is connected to one of `addresses` at `port`
// (gRPC 1.51 offers no public way to reach a channel's socket). Returns how many were found.
int SetDeadPeerDetectionTowards(const std::vector<IpAddress>& addresses, uint16_t port);

// Returns the user name of this process, or its number.
std::string LocalUserName();

}  // namespace muster
