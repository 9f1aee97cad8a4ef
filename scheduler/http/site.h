// What is served under which path, and to whom. Of the server's thread.
//
//   /healthz, /readyz                               everybody
//   a Host that is not this server's                421, whoever asks
//   the page's files, /api/v1/session, POST /login  everybody
//   anything else, with --tls_config or a token     who shows a certificate that is let in, a token, or the cookie of a
//                                                   login; else 401
//   anything else, without both (loopback only)     everybody on this machine
//   what a certificate of one job asks for          that job's part
//   POST of an action                               the token that may, its cookie, or an admin's certificate; else 403
//   a path that is not known                        404
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

// What the scheduler gives the site; nothing is owned, everything is thread-safe.
struct SiteContext {
  const scheduler::ServiceContext& services;
  std::function<scheduler::LoopMeasures()> loop;
  std::function<size_t()> queue_length;
  std::function<bool()> is_draining;
};

struct Visitor {
  const scheduler::PeerFacts& peer;
  bool has_tls = false;
  uint64_t connection = 0;
  std::string party = {};  // of its address, see FairShare
};

inline constexpr char kMetricsPath[] = "/metrics";

// The large answers that are being sent, so that readers who take theirs slowly, each a different one, can't have them
// fill the memory. One that many read counts once. Of the server's thread.
class UnderWay {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kSmall = size_t{64} << 10;  // up to this they are not counted: connections are limited

  // False: there is no room. The response stays where it is until End, once for each Begin.
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

  // `reply` is called once, now or later, unless the connection is forgotten. True: the visitor has shown an identity.
  bool Handle(const Request& request, const Visitor& visitor, Questions::Reply reply);
  void Forget(uint64_t connection) { questions_.Forget(connection); }

  // An event stream begins, if there are not too many already; or ends.
  bool OpenStream();
  void CloseStream() { --streams_; }

  // A connection of this party has shown an identity, and stays where there is no room for a newcomer; or has ended.
  // False: so many of its party do that no more would leave room for health checks.
  bool OpenKnown(const std::string& party);
  void CloseKnown(const std::string& party);

  UnderWay& under_way() { return under_way_; }

  void SetConnections(size_t count) { connections_ = count; }

 private:
  // What the visitor may see.
  struct View {
    std::string job;            // the only one; empty: all
    bool has_identity = false;  // sees what processes said, too
    bool has_token = false;     // in a request, or as the cookie of a login: may change all jobs, too
    bool by_cookie = false;
    bool only_looks = false;  // by the token that it shows, whatever else it may show
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
  std::set<std::string> listed_;  // jobs, on the last page of all of them
  size_t connections_ = 0;
  size_t streams_ = 0;
  size_t known_ = 0;                        // connections that stay …
  std::map<std::string, size_t> known_of_;  // … and those of each party
};

}  // namespace muster::http
