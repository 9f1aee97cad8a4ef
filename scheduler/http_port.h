// Where the scheduler's HTTP port is, and whether it may be there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/http/server.h"
#include "scheduler/scheduler_settings.h"

namespace muster::scheduler {

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
