// Opens the addresses and sockets that the settings ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/http/server.h"
#include "scheduler/ingress/bind_plan.h"
#include "scheduler/ingress/listener.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

// ---- listening.cc: the port of the agents, and the admin socket.

struct OpenPorts {
  std::vector<Listener> listeners;  // TCP and, after that, the admin socket
  std::vector<UniqueFd> datagrams;  // for heartbeats; may be empty
};

// Opens the ports and the admin socket. Logs a line if the addresses differ from MS_SCHED_HOST. Returns an error with
// the reason if the scheduler can't serve. Only logs a warning if it can't open the port for datagrams, or an admin
// socket that the user did not name.
absl::StatusOr<OpenPorts> OpenListeners(const SchedulerSettings& settings);

// Plans the addresses of the agents' port and of --mindspore_port.
absl::StatusOr<BindPlan> PlanAgentsPort(const SchedulerSettings& settings);

// Returns the names of the TCP listeners, for example "127.0.0.1:8118 and [::1]:8118".
std::string ListenerNames(const std::vector<Listener>& listeners);

// Returns the first address that other machines can reach. Returns an empty string if the scheduler listens on all
// addresses, or only on loopback.
std::string ReachableAddress(const std::vector<Listener>& listeners);

// Returns the path of the admin socket; empty if there is none.
std::string AdminSocketOf(const std::vector<Listener>& listeners);

// ---- http_port.cc: the place of the HTTP port, and whether it is allowed there.

struct HttpPlace {
  std::string host = "127.0.0.1";
  uint16_t port = 0;      // 0: the kernel chooses
  bool is_named = false;  // the user named the place, so it is an error if it can't be opened
};

// Returns the place of the HTTP port, or nullopt if there is none. `port` is the agents' port. An INVALID_ARGUMENT
// error contains only the broken rule; the caller adds the name of the setting.
//
//   --http_address      place
//   off                 none
//   HOST:PORT           HOST:PORT; if PORT is 0, the kernel chooses the port
//   HOST                HOST at the agents' port + 2
//   not set             127.0.0.1 at MS_SCHED_PORT + 2; none if MS_SCHED_PORT is 0, or with --once
absl::StatusOr<std::optional<HttpPlace>> PlanHttp(const SchedulerSettings& settings, uint16_t port);

// Returns the host names that a request to the HTTP port at `host` may contain. Some may be empty strings. With TLS,
// the server also accepts the names in its certificate.
std::set<std::string> HttpNames(const SchedulerSettings& settings, const std::string& host);

// Returns OK if HTTP may listen. Unknown clients can reach an address other than loopback, so such an address needs TLS
// (clients then need certificates) or a token.
absl::Status CheckHttpReach(bool is_loopback_only, bool has_tls, bool has_token);

// Starts the HTTP server. Returns null if there is no HTTP port, or after a warning if the default port can't be
// opened. Returns an error instead of the warning if the user named the place or a token: the user then expects HTTP.
// Everything in `context` must outlive the server.
absl::StatusOr<std::unique_ptr<http::Server>> OpenHttp(const SchedulerSettings& settings, uint16_t port,
                                                       std::shared_ptr<const TlsStore> tls, http::SiteContext context);

}  // namespace muster::scheduler
