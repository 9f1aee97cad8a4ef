// Names, local addresses and sockets. These calls may block (name look-up); never call them in a loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ip_address.h"
#include "common/unique_fd.h"

namespace muster {

// All addresses of a host name or numeric address, in the resolver's order. The error names the host and what to check.
absl::StatusOr<std::vector<IpAddress>> ResolveHost(const std::string& host);

// Whether one of this network namespace's interfaces has the address (127.0.0.0/8 and ::1 included).
bool IsLocalAddress(const IpAddress& address);

// The local address that a connection to `remote` would come from (a connected UDP socket tells; nothing is sent).
absl::StatusOr<IpAddress> LocalAddressTowards(const IpAddress& remote);

// A UDP socket that is connected to `remote`: non-blocking, close-on-exec; nothing is sent. Not open, with errno, if
// there is no way to it.
UniqueFd OpenDatagramsTowards(const IpAddress& remote, uint16_t port);

// gethostname; "localhost" if that fails.
std::string LocalHostName();

// Dead-peer detection by the kernel: keepalive 10 s idle, 3 probes 5 s apart, TCP_USER_TIMEOUT 25 s.
// A vanished machine breaks the connection within about 25 s, whether or not data is in flight.
void SetDeadPeerDetection(int socket_fd);

// Sets dead-peer detection on every TCP socket of this process that is connected to one of `addresses` at `port`
// (gRPC 1.51 offers no public way to reach a channel's socket). Returns how many were found.
int SetDeadPeerDetectionTowards(const std::vector<IpAddress>& addresses, uint16_t port);

// The user name of this process, or its number.
std::string LocalUserName();

}  // namespace muster
