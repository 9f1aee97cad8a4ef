// Listening sockets: TCP for all clients, UDP for heartbeats, a Unix socket for admin calls on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "scheduler/ingress/bind_plan.h"

namespace muster::scheduler {

struct Listener {
  UniqueFd fd;        // listening, non-blocking, close-on-exec
  std::string name;   // for messages: "127.0.0.1:8118", "[::]:8118", or the Unix socket's path
  uint16_t port = 0;  // the port it listens on, also if port 0 was requested
  bool is_unix = false;
};

// Opens a listener for each address of the plan, all on the same port. If the plan is all addresses, opens one socket
// for IPv4 and IPv6. Uses SO_REUSEADDR, so that a restart need not wait until old connections are gone. Doesn't use
// SO_REUSEPORT, so that a second scheduler on this port fails. ALREADY_EXISTS: the port is in use; the error names the
// process that holds it, if this user may see that.
absl::StatusOr<std::vector<Listener>> OpenTcpListeners(const BindPlan& plan, uint16_t port);

// Opens UDP sockets for heartbeats on the same addresses and port: non-blocking, close-on-exec, and set to report each
// datagram's destination address. If one can't be opened, returns its error and opens none.
absl::StatusOr<std::vector<UniqueFd>> OpenDatagramSockets(const BindPlan& plan, uint16_t port);

// Opens the Unix socket for admin calls, with mode 0600. Makes its folder with mode 0700 if it is missing. Replaces a
// socket at `path` that no process listens on. ALREADY_EXISTS: a process answers there. FAILED_PRECONDITION: `path` is
// another kind of file, or its folder belongs to another user or is writable by others (unless it is sticky, as /tmp).
absl::StatusOr<Listener> OpenUnixListener(const std::string& path);

// Removes the socket file when the scheduler ends. Does nothing if `path` is empty or another kind of file.
void RemoveSocket(const std::string& path);

}  // namespace muster::scheduler
