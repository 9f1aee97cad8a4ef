// Opens what the settings ask the scheduler to listen on.
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

// Says in the log what is not as MS_SCHED_HOST has it. An error says why the scheduler can't serve; a port for
// datagrams, and an admin socket that nobody asked for by name, are only warned of.
absl::StatusOr<OpenPorts> OpenListeners(const SchedulerSettings& settings);

// Where the agents' port listens, and --mindspore_port, too.
absl::StatusOr<BindPlan> PlanAgentsPort(const SchedulerSettings& settings);

// "127.0.0.1:8118 and [::1]:8118": the TCP ones.
std::string ListenerNames(const std::vector<Listener>& listeners);

// The first one that other machines can reach; empty: all addresses are listened on, or loopback only.
std::string ReachableAddress(const std::vector<Listener>& listeners);

// The path of the admin socket; empty if there is none.
std::string AdminSocketOf(const std::vector<Listener>& listeners);

// ---- http_port.cc: where the HTTP port is, and whether it may be there.

struct HttpPlace {
  std::string host = "127.0.0.1";
  uint16_t port = 0;      // 0: the kernel chooses
  bool is_named = false;  // by the user: then it must be had
};

// Nothing: no HTTP. `port`: the agents'. INVALID_ARGUMENT says the rule only.
//
//   --http_address      place
//   off                 none
//   HOST:PORT           that one; PORT 0: the kernel chooses
//   HOST                at the agents' port + 2
//   not set             127.0.0.1 at MS_SCHED_PORT + 2; none where that is 0, or with --once
absl::StatusOr<std::optional<HttpPlace>> PlanHttp(const SchedulerSettings& settings, uint16_t port);

// Under which names the port at `host` is asked; some may be empty. A certificate's names come on top.
std::set<std::string> HttpNames(const SchedulerSettings& settings, const std::string& host);

// Why it may not listen there: beyond loopback strangers come, who need certificates or a token. OK: it may.
absl::Status CheckHttpReach(bool is_loopback_only, bool has_tls, bool has_token);

// Serves, or null: there is no HTTP. A default port that is taken is warned of; it is an error where the user has named
// the place or a token, since HTTP is wanted then. Everything in `context` must outlive it.
absl::StatusOr<std::unique_ptr<http::Server>> OpenHttp(const SchedulerSettings& settings, uint16_t port,
                                                       std::shared_ptr<const TlsStore> tls, http::SiteContext context);

}  // namespace muster::scheduler
