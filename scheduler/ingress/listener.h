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
  std::string name;   // "127.0.0.1:8118", "[::]:8118", the socket's path
  uint16_t port = 0;  // the real one, also if 0 was requested
  bool is_unix = false;
};

// Opens one for each address of the plan, all on the same port; one dual-stack socket for all addresses. Uses
// SO_REUSEADDR (a restart must not wait for old connections), never SO_REUSEPORT (a second scheduler must fail). A port
// in use is ALREADY_EXISTS; the error names the process if it is visible.
absl::StatusOr<std::vector<Listener>> OpenTcpListeners(const BindPlan& plan, uint16_t port);

// Opens sockets for heartbeats on the same addresses and port: non-blocking, close-on-exec, and with each datagram's
// destination address. All or, with the reason, none.
absl::StatusOr<std::vector<UniqueFd>> OpenDatagramSockets(const BindPlan& plan, uint16_t port);

// Opens the socket with mode 0600, and makes a missing folder with mode 0700. ALREADY_EXISTS: a process answers there.
// Replaces a stale socket. FAILED_PRECONDITION: another kind of file is in its place, or the folder belongs to another
// user or is writable by others (unless it is sticky, as /tmp).
absl::StatusOr<Listener> OpenUnixListener(const std::string& path);

// Removes the socket at the end. Leaves any other file there; an empty path does nothing.
void RemoveSocket(const std::string& path);

}  // namespace muster::scheduler
