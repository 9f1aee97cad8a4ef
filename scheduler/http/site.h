// The paths of the HTTP port, and the access that each of them needs. Owned by the server's thread.
//
//   /healthz, /readyz                               all clients
//   a Host field that is not this server's name     421, for all clients
//   the page's files, /api/v1/session, POST /login  all clients
//   anything else, if --tls_config or a token is    clients with an accepted certificate, a token, or the cookie of a
//   configured                                      login; else 401
//   anything else, if neither is configured (the    all users of this machine
//   port then listens on the loopback only)
//   anything else, with a certificate for one job   only what concerns that job
//   POST of an action                               a token that may act (or its login's cookie), or an admin's
//                                                   certificate; else 403
//   an unknown path                                 404
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/frontend/service_context.h"
#include "scheduler/http/access.h"
#include "scheduler/http/api.h"
#include "scheduler/http/metric_writer.h"
#include "scheduler/http/page/login.h"
#include "scheduler/http/process_facts.h"
#include "scheduler/http/questions.h"
#include "scheduler/http/request.h"
#include "scheduler/http/response.h"
#include "scheduler/ingress/peer_facts.h"
#include "scheduler/loop/loop.h"

namespace muster::http {

// The scheduler's parts that the site uses. Owns nothing; everything is thread-safe.
struct SiteContext {
  const scheduler::ServiceContext& services;
  std::function<scheduler::LoopMeasures()> loop;
  std::function<size_t()> queue_length;
  std::function<bool()> is_draining;
  std::string agents_at = {};  // HOST:PORT for agents, to show to users
};

struct Visitor {
  const scheduler::PeerFacts& peer;
  bool has_tls = false;
  uint64_t connection = 0;
  std::string client_key = {};  // FairShare of the visitor's address
};

inline constexpr char kMetricsPath[] = "/metrics";

// The large answers that are being sent now. Limits the memory that they take together, because many clients could each
// ask for a different answer and read it slowly. An answer that goes to several clients counts once. Owned by the
// server's thread.
class UnderWay {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kSmall = size_t{64} << 10;  // smaller answers don't count: the number of clients limits them

  // Counts a client that begins to read this response. False: there is no room, and nothing is counted. Otherwise keep
  // the response in memory, and call End once when the client has finished.
  bool Begin(const Response& response) {
    const size_t size = response.body.size();
    if (size <= kSmall) return true;
    const auto found = readers_.find(&response);
    if (found == readers_.end() && bytes_ + size > kMaxBytes) return false;
    if (found == readers_.end()) bytes_ += size;
    ++readers_[&response];
    return true;
  }
  void End(const Response& response) {
    const auto found = readers_.find(&response);
    if (found == readers_.end() || --found->second > 0) return;
    bytes_ -= response.body.size();
    readers_.erase(found);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::map<const Response*, size_t> readers_;
  size_t bytes_ = 0;
};

class Site {
 public:
  Site(SiteContext context, HostRule hosts, Tokens tokens, Questions& questions, size_t max_connections)
      : context_(std::move(context)),
        hosts_(std::move(hosts)),
        tokens_(std::move(tokens)),
        questions_(questions),
        max_connections_(max_connections) {}

  // Calls `reply` once, now or later, unless Forget is called for the connection first. Returns true if the visitor has
  // shown an identity (a token or a certificate).
  bool Handle(const Request& request, const Visitor& visitor, Questions::Reply reply);
  void Forget(uint64_t connection) { questions_.Forget(connection); }

  // Counts a new event stream, until CloseStream. False: too many are open, so the caller must refuse it.
  bool OpenStream();
  void CloseStream() { --streams_; }

  // Call it for a connection that has shown an identity. True: this connection will not be closed to make room; call
  // CloseKnown when it ends. False: it may be closed, because too many such connections, of all clients or of this one,
  // would leave no room for health checks.
  bool OpenKnown(const std::string& client_key);
  void CloseKnown(const std::string& client_key);

  UnderWay& under_way() { return under_way_; }

  void SetConnections(size_t count) { connections_ = count; }

 private:
  // The visitor's rights.
  struct View {
    std::string job;  // the only job that the visitor may see; empty: all jobs
    bool has_identity = false;
    bool has_token = false;  // sent a token that may act, or the cookie of a login with one: may change all jobs
    bool by_cookie = false;
    bool only_looks = false;  // its token is read-only; then a certificate gives no further rights
  };
  bool IsOurHost(const std::string& host) const;
  std::optional<View> ViewOfToken(const Request& request, const Visitor& visitor) const;
  absl::StatusOr<View> ViewOf(const Request& request, const Visitor& visitor);
  std::string WhyNotHealthy() const;
  std::string WhyNotReady() const;
  bool IsLookedAtByAll(const Request& request, const Visitor& visitor, const Questions::Reply& reply);
  bool Post(const Request& request, const Visitor& visitor, const Questions::Reply& reply);
  absl::Status Act(const Request& request, const Visitor& visitor, const View& view, const Questions::Reply& reply);
  absl::Status MayAct(const Visitor& visitor, const View& view, const std::string& job_id) const;
  ResponsePtr Session(const Request& request, const Visitor& visitor);
  MonotonicTime Now() const { return context_.services.clock.Read().monotonic; }
  void Api(const Request& request, const Visitor& visitor, const ApiViewer& viewer, Questions::Reply reply);
  ResponsePtr Metrics(const scheduler::Answer& answer, MetricWriter::Format format, const std::string& job);

  const SiteContext context_;
  const HostRule hosts_;
  const Tokens tokens_;
  Questions& questions_;
  const size_t max_connections_;
  ProcessReader process_;
  Login login_;
  UnderWay under_way_;
  std::set<std::string> listed_;  // jobs with metrics of their own; see MetricsPage
  size_t connections_ = 0;
  size_t streams_ = 0;
  size_t known_ = 0;                        // how many connections are not closed to make room
  std::map<std::string, size_t> known_of_;  // the same number for each client
};

}  // namespace muster::http
