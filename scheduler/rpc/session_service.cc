#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "muster/v1/rendezvous.grpc.pb.h"
#include "scheduler/rpc/grpc_bytes.h"
#include "scheduler/rpc/services.h"
#include "scheduler/rpc/session.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

// At most so many last reports may wait for their answer. They wait among the queries (Options::max_queries), and many
// agents may die at once. So they have a limit of their own, which leaves room for ms-ctl.
constexpr int kMaxUnansweredLastReports = 512;

using Raw = v1::Rendezvous::WithRawCallbackMethod_Session<v1::Rendezvous::WithRawCallbackMethod_GetPeers<
    v1::Rendezvous::WithCallbackMethod_LastReport<v1::Rendezvous::Service>>>;

class SessionService : public Raw {
 public:
  explicit SessionService(const ServiceContext& services) : services_(services) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(grpc::CallbackServerContext* context) override {
    const auto session = std::make_shared<scheduler::Session>(services_, context);
    session->Begin();
    return session.get();
  }

  grpc::ServerUnaryReactor* GetPeers(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request_bytes,
                                     grpc::ByteBuffer* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(AnswerPeers(*services_.peers.Find(context->peer()), *request_bytes, *reply)));
    return reactor;
  }

  grpc::ServerUnaryReactor* LastReport(grpc::CallbackServerContext* context, const v1::LastReportRequest* request,
                                       v1::LastReportReply* /*reply*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (absl::Status status = TakeLastReport(*services_.peers.Find(context->peer()), *request, reactor); !status.ok()) {
      reactor->Finish(ToGrpcStatus(status));
    }
    return reactor;
  }

 private:
  absl::Status AnswerPeers(const PeerFacts& peer, const grpc::ByteBuffer& request_bytes, grpc::ByteBuffer& reply) {
    v1::GetPeersRequest request;
    if (absl::Status status = CheckRequestSize(request_bytes.Length()); !status.ok()) return Oversize(peer, status);
    if (!Parse(request_bytes, request)) return Malformed(peer, "the request is no GetPeersRequest");
    if (const absl::Status status = CheckRequest(request); !status.ok()) return Malformed(peer, status.message());
    if (absl::Status status = services_.authorizer.AuthorizeForNode(peer, request.job_id(), ""); !status.ok()) {
      return Denied(peer, status);
    }
    auto peers = services_.rounds.Find(request.job_id(), request.run(), request.round());
    if (peers == nullptr) {
      return absl::NotFoundError(absl::StrCat("round ", request.round(), " of run ", request.run(), " of job ",
                                              request.job_id(), " is not known, or no longer known"));
    }
    reply = PeersReplyBytes(std::move(peers));
    return absl::OkStatus();
  }

  // Passes the report to the core. OK: the reactor is finished later, once the report is durable. An error: the caller
  // must finish it.
  absl::Status TakeLastReport(const PeerFacts& peer, const v1::LastReportRequest& last_report,
                              grpc::ServerUnaryReactor* reactor) {
    if (absl::Status status = CheckRequestSize(last_report.ByteSizeLong()); !status.ok()) return Oversize(peer, status);
    if (const absl::Status status = CheckLastReport(last_report); !status.ok())
      return Malformed(peer, status.message());
    if (absl::Status status = services_.authorizer.AuthorizeForNode(peer, last_report.job_id(), last_report.node_id());
        !status.ok()) {
      return Denied(peer, status);
    }
    const auto unanswered = unanswered_last_reports_;  // the answer may come after this service is gone
    absl::Status status;
    if (unanswered->fetch_add(1) >= kMaxUnansweredLastReports) {
      status = absl::ResourceExhaustedError("too many last reports are waiting to be recorded: try again");
    } else {
      const absl::StatusOr<QueryId> query = services_.queries.Add(
          services_.clock.Read().monotonic + services_.query_limit, [reactor, unanswered](const Answer& answer) {
            unanswered->fetch_sub(1);
            reactor->Finish(ToGrpcStatus(answer.status));
          });
      if (query.ok()) {
        if (services_.post(LastReportReceived{last_report, *query, peer.identity}, nullptr)) return absl::OkStatus();
        services_.queries.Resolve(Answer{*query, absl::ResourceExhaustedError("the scheduler is busy: try again"), {}});
        return absl::OkStatus();
      }
      status = query.status();
    }
    unanswered->fetch_sub(1);
    services_.counted.Note(Severity::kWarning, "busy",
                           absl::StrCat("refused a last report: ", std::string(status.message())));
    return status;
  }

  absl::Status Malformed(const PeerFacts& peer, absl::string_view why) {
    services_.counted.Note(Severity::kWarning, "malformed request",
                           absl::StrCat("refused a call from ", peer.ToString(), ": ", why));
    return absl::InvalidArgumentError(why);
  }

  absl::Status Oversize(const PeerFacts& peer, absl::Status status) {
    services_.counted.Note(Severity::kWarning, kOversize,
                           absl::StrCat("refused a call from ", peer.ToString(), ": ", status.message()));
    return status;
  }

  absl::Status Denied(const PeerFacts& peer, absl::Status status) {
    services_.counted.Note(Severity::kWarning, KindOf(status),
                           absl::StrCat("refused a call from ", peer.ToString(), ": ", status.message()));
    return status;
  }

  const ServiceContext& services_;
  const std::shared_ptr<std::atomic<int>> unanswered_last_reports_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSessionService(const ServiceContext& services) {
  return std::make_unique<SessionService>(services);
}

}  // namespace muster::scheduler
