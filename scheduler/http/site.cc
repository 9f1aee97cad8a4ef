#include "scheduler/http/site.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/fair_share.h"
#include "common/settings/settings.h"
#include "common/show/json.h"
#include "scheduler/core/views/overview.h"
#include "scheduler/frontend/core_calls.h"
#include "scheduler/frontend/counters.h"
#include "scheduler/http/api.h"
#include "scheduler/http/metrics_page.h"
#include "scheduler/http/page/actions.h"
#include "scheduler/http/page/assets.h"

namespace muster::http {
namespace {

constexpr absl::Duration kMaxTurn = absl::Seconds(10);  // longer means a stuck loop: it turns at least once a second

// At most kMaxStreams event streams, and at most 1/kPartOfStreams of the connections.
constexpr size_t kMaxStreams = 64;
constexpr size_t kPartOfStreams = 4;

// A connection that has shown an identity is not closed to make room. The number of such connections is limited, in
// sixteenths of all connections: for all clients together, and for one client. Event streams are not closed to make
// room either; they have 4 sixteenths. So at least 2 sixteenths of all connections can always make room, and at least 1
// of the 8 sixteenths that one client may have (kPartOfOneClient).
constexpr size_t kKnown = 10;
constexpr size_t kKnownOfClient = 3;

constexpr char kSessionPath[] = "/api/v1/session";

ResponsePtr Text(int status, const std::string& text) { return MakeResponse(status, kPlainText, text + "\n"); }

}  // namespace

// The site counts refused requests under these names:
//
//   "http: other host"   the Host field is no name of this server
//   "http: no identity"  the client sent neither a token nor a certificate
//   "http: wrong token"  the Authorization field has a wrong token
//   "http: only looks"   an action came with a read-only token
//   "http: other site"   a change may come from a page of another site
//   any other name       the authorizer refused the client, and chose the name
//
// ViewOfToken returns the rights that the request's token or cookie gives; none: it has no valid one.
std::optional<Site::View> Site::ViewOfToken(const Request& request, const Visitor& visitor) const {
  const bool by_cookie = request.authorization.empty();
  const std::optional<Role> role =
      by_cookie ? login_.RoleOf(request, visitor.has_tls, Now()) : tokens_.Match(request.authorization);
  if (!role) return std::nullopt;
  return View{"", /*has_identity=*/true, /*has_token=*/*role == Role::kAct, by_cookie,
              /*only_looks=*/*role == Role::kLook};
}

absl::StatusOr<Site::View> Site::ViewOf(const Request& request, const Visitor& visitor) {
  CountedLog* const counted = &context_.services.counted;
  const std::string who = visitor.peer.address;
  if (std::optional<View> view = ViewOfToken(request, visitor)) return *std::move(view);
  if (!request.authorization.empty() && tokens_.any()) {
    counted->Note(Severity::kWarning, "http: wrong token", absl::StrCat("refused ", who, ": its token is wrong"));
    return absl::UnauthenticatedError("the token is wrong");
  }
  const bool needs_identity = tokens_.any() || context_.services.tls != nullptr;
  if (!needs_identity) return View{"", false};
  if (visitor.peer.certificates.empty()) {
    counted->Note(Severity::kWarning, "http: no identity",
                  absl::StrCat("refused ", who, ": it sent neither a token nor a certificate"));
    return absl::UnauthenticatedError(
        tokens_.any()
            ? "send the token of --http_token_file (Authorization: Bearer TOKEN), log in at /, or present a certificate"
            : "present a certificate of the scheduler's authority, or set --http_token_file and send its token");
  }
  View view{"", true};
  absl::Status status = context_.services.authorizer.AuthorizeLookAt(visitor.peer, view.job);
  if (status.ok()) return view;
  counted->Note(Severity::kWarning, scheduler::KindOf(status),
                absl::StrCat("refused to show the state to ", who, ": ", std::string(status.message())));
  return status;
}

bool Site::OpenStream() {
  if (streams_ >= std::min(kMaxStreams, max_connections_ / kPartOfStreams)) return false;
  ++streams_;
  return true;
}

bool Site::OpenKnown(const std::string& client_key) {
  if (known_ >= std::max<size_t>(1, max_connections_ * kKnown / 16)) return false;
  size_t& of_client = known_of_[client_key];
  if (of_client >= std::max<size_t>(1, max_connections_ * kKnownOfClient / 16)) return false;
  ++of_client;
  ++known_;
  return true;
}

void Site::CloseKnown(const std::string& client_key) {
  --known_;
  const auto found = known_of_.find(client_key);
  if (--found->second == 0) known_of_.erase(found);
}

std::string Site::WhyNotHealthy() const {
  const scheduler::LoopMeasures loop = context_.loop();
  const absl::Duration since = context_.services.clock.Read().monotonic - loop.last_turn;
  if (since <= kMaxTurn) return "";
  return absl::StrCat("the scheduler's loop has stood still for ", ShowDuration(absl::Trunc(since, absl::Seconds(1))));
}

std::string Site::WhyNotReady() const {
  if (std::string why = WhyNotHealthy(); !why.empty()) return why;
  if (context_.is_draining()) return "the scheduler is shutting down";
  return context_.services.WhyFull();
}

// True for the configured names, and for those in the server's certificate: the authority has checked them.
bool Site::IsOurHost(const std::string& host) const {
  if (hosts_.Takes(host)) return true;
  if (context_.services.tls == nullptr) return false;
  const std::shared_ptr<const TlsState> state = context_.services.tls->Current();
  const std::string name = NameOfHost(host);
  return !name.empty() && !state->own_chain.empty() && state->own_chain.front().IsForHost(name);
}

bool Site::Handle(const Request& request, const Visitor& visitor, Questions::Reply reply) {
  const std::string& path = request.target.path;
  if (path == "/healthz" || path == "/readyz") {
    const std::string why = path == "/healthz" ? WhyNotHealthy() : WhyNotReady();
    reply(why.empty() ? Text(200, "ok") : Text(503, why));
    return false;
  }
  if (!IsOurHost(request.host)) {
    context_.services.counted.Note(
        Severity::kWarning, "http: other host",
        absl::StrCat("refused ", visitor.peer.address, ": it asks for host ", Quoted(request.host)));
    reply(Text(421,
               "this host name is not the scheduler's: use an address, localhost, the name that --http_address or "
               "MS_SCHED_HOST has, or one of --http_names"));
    return false;
  }
  if (context_.services.tls != nullptr && !visitor.has_tls) {
    reply(Text(403, "this port speaks TLS: use https://"));
    return false;
  }
  if (IsLookedAtByAll(request, visitor, reply)) return false;
  if (request.is_post) return Post(request, visitor, reply);
  const absl::StatusOr<View> view = ViewOf(request, visitor);
  if (!view.ok()) {
    reply(absl::StartsWith(path, "/api/")
              ? ApiError(view.status())
              : Text(absl::IsUnauthenticated(view.status()) ? 401 : 403, std::string(view.status().message())));
    return false;
  }
  if (path == kMetricsPath) {
    const MetricWriter::Format format = MetricWriter::FormatFor(request.accept);
    const bool is_open = format == MetricWriter::Format::kOpenMetrics;
    questions_.Ask(
        {visitor.connection, visitor.client_key, /*is_first=*/true},
        absl::StrCat("metrics ", is_open ? 1 : 0, " ", view->job), scheduler::OverviewRequest(),
        [this, format, job = view->job](const scheduler::Answer& answer) { return Metrics(answer, format, job); },
        std::move(reply));
  } else if (absl::StartsWith(path, "/api/")) {
    Api(request, visitor, {view->job}, std::move(reply));
  } else {
    reply(Text(404, "there is nothing under this path"));
  }
  return view->has_identity;
}

// Answers requests for the page's files and for the session, which show nothing of any job, so everyone may see them.
// False: the request is for something else.
bool Site::IsLookedAtByAll(const Request& request, const Visitor& visitor, const Questions::Reply& reply) {
  const std::string& path = request.target.path;
  if (request.is_post) return false;
  if (path == kSessionPath) {
    reply(Session(request, visitor));
    return true;
  }
  ResponsePtr asset = FindAsset(path, request.if_none_match);
  if (asset == nullptr) return false;
  reply(std::move(asset));
  return true;
}

// Returns what the page needs to know about its visitor: whether it must ask for a token, and whether to offer actions.
ResponsePtr Site::Session(const Request& request, const Visitor& visitor) {
  if (!request.target.query.empty()) return ApiError(absl::InvalidArgumentError("this path takes no parameters"));
  View view;
  bool is_known = !tokens_.any() && context_.services.tls == nullptr;
  if (tokens_.any() || context_.services.tls != nullptr) {
    View found{"", true};
    if (std::optional<View> by_token = ViewOfToken(request, visitor)) {
      found = *std::move(by_token);
      is_known = true;
    } else {
      is_known = !visitor.peer.certificates.empty() &&
                 context_.services.authorizer.AuthorizeLookAt(visitor.peer, found.job).ok();
    }
    if (is_known) view = found;
  }
  const absl::Status may_change = MayAct(visitor, view, view.job);
  const nlohmann::ordered_json document{
      {"may_view", is_known},
      {"may_change", may_change.ok()},
      {"why_not",
       may_change.ok() ? nlohmann::ordered_json() : nlohmann::ordered_json(std::string(may_change.message()))},
      {"takes_token", tokens_.any()},
      {"by", view.has_token || view.only_looks ? "token"
             : view.has_identity               ? "certificate"
                                               : "nothing"},
      {"agents_at", is_known ? nlohmann::ordered_json(context_.agents_at) : nlohmann::ordered_json()},
      {"job_id", view.job.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(view.job)}};
  return JsonResponse(200, document);
}

absl::Status Site::MayAct(const Visitor& visitor, const View& view, const std::string& job_id) const {
  if (view.has_token) return absl::OkStatus();
  if (view.only_looks) {
    return absl::PermissionDeniedError(
        "this token is read-only: a change needs the token of --http_token_file or an admin's certificate; or run "
        "ms-ctl on the scheduler's machine");
  }
  if (!view.has_identity) {
    return absl::PermissionDeniedError(
        tokens_.any() ? "log in with the token of --http_token_file"
                      : "actions need an identity: set --http_token_file and log in with its token, or --tls_config "
                        "and present an admin's certificate; or run ms-ctl on the scheduler's machine");
  }
  return context_.services.authorizer.AuthorizeAdminChange(visitor.peer, job_id);
}

bool Site::Post(const Request& request, const Visitor& visitor, const Questions::Reply& reply) {
  CountedLog& counted = context_.services.counted;
  const Login::Client client{visitor.peer.address, visitor.client_key, visitor.has_tls};
  const std::string& path = request.target.path;
  if (path == kLoginPath || path == kLogoutPath) {
    reply(path == kLoginPath ? login_.Begin(request, client, tokens_, Now(), counted)
                             : login_.End(request, client, counted));
    return false;
  }
  if (!absl::StartsWith(path, "/api/v1/jobs/")) {
    reply(Text(405, "only GET and HEAD are served here"));
    return false;
  }
  const absl::StatusOr<View> view = ViewOf(request, visitor);
  const absl::Status status = view.ok() ? Act(request, visitor, *view, reply) : view.status();
  if (!status.ok()) reply(ApiError(status));
  return view.ok() && view->has_identity;
}

// Asks the core to do what the request wants. OK: `reply` will be called with the core's answer. An error: it will not.
absl::Status Site::Act(const Request& request, const Visitor& visitor, const View& view,
                       const Questions::Reply& reply) {
  const scheduler::ServiceContext& services = context_.services;
  if (absl::Status own = CheckOwnPage(request, view.by_cookie); !own.ok()) {
    services.counted.Note(
        Severity::kWarning, "http: other site",
        absl::StrCat("refused an action for ", visitor.peer.address, ": ", std::string(own.message())));
    return own;
  }
  if (view.only_looks) {
    services.counted.Note(Severity::kWarning, "http: only looks",
                          absl::StrCat("refused an action for ", visitor.peer.address, ": its token is read-only"));
  }
  if (view.only_looks || (!view.has_token && !view.has_identity)) return MayAct(visitor, view, "");
  const std::string who =
      visitor.peer.identity.empty() || view.has_token ? visitor.peer.address : visitor.peer.identity;
  const absl::StatusOr<Action> action = ParseAction(request, who);
  if (!action.ok()) return action.status();
  if (!view.has_token) {
    if (absl::Status may = scheduler::MayChange(services, visitor.peer, action->job_id); !may.ok()) return may;
  }
  if (const std::string why = services.WhyFull(); !why.empty()) return absl::UnavailableError(why);
  return scheduler::AskCore(
      services, PrincipalOf(visitor.peer.identity, visitor.peer.address), services.query_limit,
      [&](scheduler::QueryId id) { return EventOf(id, *action); },
      [action = *action, reply](scheduler::Answer answer) { reply(AnswerOf(action, answer)); });
}

void Site::Api(const Request& request, const Visitor& visitor, const ApiViewer& viewer, Questions::Reply reply) {
  if (request.target.path == "/api/v1/counters") {
    if (!viewer.only_job.empty()) {
      return reply(
          ApiError(absl::PermissionDeniedError("these counters cover all jobs: present an admin's certificate")));
    }
    return reply(MakeResponse(200, kJson, CountersJson(scheduler::CountersOf(context_.services))));
  }
  absl::StatusOr<ApiQuestion> question = ParseApi(request.target, viewer);
  if (!question.ok()) return reply(ApiError(question.status()));
  questions_.Ask({visitor.connection, visitor.client_key}, question->key, std::move(question->request),
                 std::move(question->render), std::move(reply));
}

ResponsePtr Site::Metrics(const scheduler::Answer& answer, MetricWriter::Format format, const std::string& job) {
  const scheduler::ServiceContext& services = context_.services;
  MetricsInput input;
  if (answer.status.ok()) input.overview = std::get<std::shared_ptr<const scheduler::Overview>>(answer.reply);
  input.is_ready = WhyNotReady().empty();
  input.loop = context_.loop();
  input.queue_length = context_.queue_length();
  input.open_streams = services.streams.size();
  input.http_connections = connections_;
  input.counts = services.counted.Counts();
  if (services.tls != nullptr) {
    const std::shared_ptr<const TlsState> state = services.tls->Current();
    input.certificate_end = state->OwnEnd();
    input.list_end = state->FirstListEnd();
  }
  input.process = process_.Read(services.clock.Read().monotonic);
  return MakeResponse(200, MetricWriter::ContentType(format), MetricsPage(input, format, job, listed_));
}

}  // namespace muster::http
