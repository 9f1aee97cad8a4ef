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

// Logs differences from MS_SCHED_HOST. Fails, with the reason, if the scheduler can't serve. Only warns if the port for
// datagrams, or an admin socket that the user did not name, can't be opened.
absl::StatusOr<OpenPorts> OpenListeners(const SchedulerSettings& settings);

// Plans the addresses of the agents' port and of --mindspore_port.
absl::StatusOr<BindPlan> PlanAgentsPort(const SchedulerSettings& settings);

// Returns "127.0.0.1:8118 and [::1]:8118": the TCP listeners.
std::string ListenerNames(const std::vector<Listener>& listeners);

// Returns the first address that other machines can reach; empty: all addresses, or only loopback.
std::string ReachableAddress(const std::vector<Listener>& listeners);

// Returns the path of the admin socket; empty if there is none.
std::string AdminSocketOf(const std::vector<Listener>& listeners);

// ---- http_port.cc: the place of the HTTP port, and whether it is allowed there.

struct HttpPlace {
  std::string host = "127.0.0.1";
  uint16_t port = 0;      // 0: the kernel chooses
  bool is_named = false;  // by the user: failing to open it is an error
};

// None: no HTTP. `port`: the agents'. INVALID_ARGUMENT gives only the rule.
//
//   --http_address      place
//   off                 none
//   HOST:PORT           that one; PORT 0: the kernel chooses
//   HOST                at the agents' port + 2
//   not set             127.0.0.1 at MS_SCHED_PORT + 2; none where that is 0, or with --once
absl::StatusOr<std::optional<HttpPlace>> PlanHttp(const SchedulerSettings& settings, uint16_t port);

// Returns the names under which clients may address the port at `host`; some may be empty. A certificate's names are
// added to them.
std::set<std::string> HttpNames(const SchedulerSettings& settings, const std::string& host);

// OK if HTTP may listen there: beyond loopback, unknown clients can reach it, so they need certificates or a token.
absl::Status CheckHttpReach(bool is_loopback_only, bool has_tls, bool has_token);

// Starts the server, or returns null: no HTTP. If a default port is in use, only warns; fails if the user named the
// place or a token, because HTTP is wanted then. Everything in `context` must outlive the server.
absl::StatusOr<std::unique_ptr<http::Server>> OpenHttp(const SchedulerSettings& settings, uint16_t port,
                                                       std::shared_ptr<const TlsStore> tls, http::SiteContext context);

}  // namespace muster::scheduler
