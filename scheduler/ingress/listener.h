// Sockets that listen: TCP for everyone, UDP for heartbeats, a Unix socket for the admin calls of this machine.
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
  uint16_t port = 0;  // the real one, also when 0 was asked for
  bool is_unix = false;
};

// One for each address of the plan, all on the same port; one dual-stack socket for all addresses. SO_REUSEADDR (a
// restart must not wait for old connections), never SO_REUSEPORT (a second scheduler must fail). A port in use is
// ALREADY_EXISTS and names who holds it where that can be told.
absl::StatusOr<std::vector<Listener>> OpenTcpListeners(const BindPlan& plan, uint16_t port);

// For heartbeats, on the same addresses and port: non-blocking, close-on-exec, and telling for each datagram which
// address it was sent to. All or, with the reason, none.
absl::StatusOr<std::vector<UniqueFd>> OpenDatagramSockets(const BindPlan& plan, uint16_t port);

// Mode 0600; its folder is made with mode 0700 if it is missing. ALREADY_EXISTS when somebody answers there; a stale
// socket is replaced; anything else in its place, and a folder that belongs to another user or that others can write to
// (unless it is sticky, as /tmp), is FAILED_PRECONDITION.
absl::StatusOr<Listener> OpenUnixListener(const std::string& path);

// At the end. Anything else in its place stays; an empty path is none.
void RemoveSocket(const std::string& path);

}  // namespace muster::scheduler
