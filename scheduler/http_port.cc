#include <netdb.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/net/net.h"
#include "common/settings/sched_address.h"
#include "common/sys/log.h"
#include "common/sys/room.h"
#include "scheduler/ingress/bind_plan.h"
#include "scheduler/listening.h"

namespace muster::scheduler {
namespace {

constexpr char kOff[] = "off";
constexpr uint16_t kBehindAgentsPort = 2;
constexpr size_t kMaxConnections = 256;
constexpr size_t kPartOfDescriptors = 16;  // HTTP gets 1/16 of the descriptor limit; agents need the rest

// Returns this machine's full host name from the resolver, such as "node1.cluster.local"; empty if there is none.
std::string FullHostName() {
  addrinfo hints = {};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (getaddrinfo(LocalHostName().c_str(), nullptr, &hints, &found) != 0) return "";
  std::string name = found->ai_canonname == nullptr ? "" : found->ai_canonname;
  freeaddrinfo(found);
  return name;
}

absl::StatusOr<uint16_t> DefaultPort(uint16_t agents_port) {
  if (agents_port == 0 || agents_port > 65535 - kBehindAgentsPort) {
    return absl::InvalidArgumentError("must name a port: the default, MS_SCHED_PORT + 2, is no valid port here");
  }
  return static_cast<uint16_t>(agents_port + kBehindAgentsPort);
}

absl::Status ReadTokens(const SchedulerSettings& settings, http::Tokens& out) {
  std::optional<http::Token> to_act, to_look;
  for (const auto& [name, path, token] :
       {std::tuple("http_token_file", &settings.http_token_file, &to_act),
        std::tuple("http_view_token_file", &settings.http_view_token_file, &to_look)}) {
    if (path->empty()) continue;
    absl::StatusOr<http::Token> read = http::Token::Read(name, *path);
    if (!read.ok()) return read.status();
    *token = *std::move(read);
  }
  absl::StatusOr<http::Tokens> tokens = http::Tokens::Of(std::move(to_act), std::move(to_look));
  if (!tokens.ok()) return tokens.status();
  out = *std::move(tokens);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<http::Server>> Open(const SchedulerSettings& settings, const HttpPlace& place,
                                                   std::shared_ptr<const TlsStore> tls, http::SiteContext context) {
  const absl::StatusOr<BindPlan> plan = PlanListen("--http_address", place.host, {ResolveHost, IsLocalAddress});
  if (!plan.ok()) return plan.status();
  if (!plan->notice.empty()) Log(Severity::kInfo, plan->notice);
  const bool is_loopback_only = plan->is_loopback_only();
  http::Server::Options options;
  if (absl::Status read = ReadTokens(settings, options.tokens); !read.ok()) return read;
  if (absl::Status reach = CheckHttpReach(is_loopback_only, tls != nullptr, options.tokens.any()); !reach.ok()) {
    return reach;
  }
  if (!is_loopback_only && tls == nullptr) {
    Log(Severity::kWarning,
        "the HTTP token crosses the network to --http_address as plain text, where others can read and use it: set "
        "--tls_config");
  }
  options.names = HttpNames(settings, place.host);
  if (!is_loopback_only) options.names.insert(FullHostName());  // only if needed, because the resolver may block
  options.max_connections = std::clamp<size_t>(DescriptorLimit() / kPartOfDescriptors, 8, kMaxConnections);
  options.tls = tls;
  options.counted = std::shared_ptr<CountedLog>(std::shared_ptr<CountedLog>(), &context.services.counted);
  absl::StatusOr<std::unique_ptr<http::Server>> server = http::Server::Start(std::move(options), std::move(context));
  if (!server.ok()) return server.status();
  const absl::StatusOr<uint16_t> port = ListenAsPlanned(
      *plan, place.port, [&](const IpAddress& address, uint16_t wanted) { return (*server)->Listen(address, wanted); });
  if (!port.ok()) return port.status();
  Log(Severity::kInfo, absl::StrCat("health and metrics: ", tls != nullptr ? "https://" : "http://",
                                    JoinHostPort(place.host, *port), "/ (--http_address)"));
  return server;
}

}  // namespace

absl::StatusOr<std::optional<HttpPlace>> PlanHttp(const SchedulerSettings& settings, uint16_t port) {
  const std::string& text = settings.http_address;
  if (text == kOff) return std::nullopt;
  if (text.empty()) {
    const absl::StatusOr<uint16_t> behind = DefaultPort(settings.sched_port);
    if (settings.once || !behind.ok()) return std::nullopt;
    return HttpPlace{.port = *behind};
  }
  HttpPlace place{.is_named = true};
  // ("::0" is an address without a port.)
  const bool is_any_port = absl::EndsWith(text, ":0") && !IpAddress::Parse(text);
  const std::string rest(is_any_port ? absl::StripSuffix(text, ":0") : text);
  if (absl::Status parsed = ParseHostAndPort(rest, &place.host, &place.port); !parsed.ok()) return parsed;
  if (is_any_port || place.port != 0) return place;
  const absl::StatusOr<uint16_t> behind = DefaultPort(port);
  if (!behind.ok()) return behind.status();
  place.port = *behind;
  return place;
}

std::set<std::string> HttpNames(const SchedulerSettings& settings, const std::string& host) {
  std::set<std::string> names = {host, settings.sched_host, LocalHostName()};
  for (const absl::string_view name : absl::StrSplit(settings.http_names, ',')) {
    names.insert(std::string(absl::StripAsciiWhitespace(name)));
  }
  return names;
}

absl::Status CheckHttpReach(bool is_loopback_only, bool has_tls, bool has_token) {
  if (is_loopback_only || has_tls || has_token) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "http_address is not a loopback address, so anybody on the network could see all jobs: set --tls_config (clients "
      "then need certificates) or --http_token_file, or use --http_address 127.0.0.1");
}

absl::StatusOr<std::unique_ptr<http::Server>> OpenHttp(const SchedulerSettings& settings, uint16_t port,
                                                       std::shared_ptr<const TlsStore> tls, http::SiteContext context) {
  const absl::StatusOr<std::optional<HttpPlace>> place = PlanHttp(settings, port);
  if (!place.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("http_address ", std::string(place.status().message())));
  }
  if (!place->has_value()) return nullptr;
  absl::StatusOr<std::unique_ptr<http::Server>> server = Open(settings, **place, std::move(tls), std::move(context));
  if (server.ok() || (*place)->is_named || !settings.http_token_file.empty() || !settings.http_view_token_file.empty())
    return server;
  Log(Severity::kWarning,
      absl::StrCat("health checks and metrics are not served: ", std::string(server.status().message()),
                   " (set --http_address to another port, or to off)"));
  return nullptr;
}

}  // namespace muster::scheduler
