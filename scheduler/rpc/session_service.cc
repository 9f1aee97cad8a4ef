#include "scheduler/rpc/session_service.h"

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "muster/v1/rendezvous.grpc.pb.h"
#include "scheduler/rpc/grpc_bytes.h"
#include "scheduler/rpc/session.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

// Farewells that the loop has not applied yet. Any number of them may come, so they need a bound of their own.
constexpr int kMaxUnappliedFarewells = 1'024;

using Raw = v1::Rendezvous::WithRawCallbackMethod_Session<v1::Rendezvous::WithRawCallbackMethod_GetPeers<
    v1::Rendezvous::WithCallbackMethod_Farewell<v1::Rendezvous::Service>>>;

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
    reactor->Finish(ToGrpcStatus(AnswerPeers(ParsePeer(context->peer()), *request_bytes, *reply)));
    return reactor;
  }

  grpc::ServerUnaryReactor* Farewell(grpc::CallbackServerContext* context, const v1::FarewellRequest* request,
                                     v1::FarewellReply* /*reply*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(TakeFarewell(ParsePeer(context->peer()), *request)));
    return reactor;
  }

 private:
  absl::Status AnswerPeers(const PeerFacts& peer, const grpc::ByteBuffer& request_bytes, grpc::ByteBuffer& reply) {
    v1::GetPeersRequest request;
    if (!Parse(request_bytes, request)) return Malformed(peer, "the request is no GetPeersRequest");
    if (const absl::Status status = CheckRequest(request); !status.ok()) return Malformed(peer, status.message());
    if (absl::Status status = services_.authorizer.AuthorizeForNode(peer, request.job_id(), ""); !status.ok()) {
      return status;
    }
    auto peers = services_.rounds.Find(request.job_id(), request.run(), request.round());
    if (peers == nullptr) {
      return absl::NotFoundError(absl::StrCat("round ", request.round(), " of run ", request.run(), " of job ",
                                              request.job_id(), " is not known, or no more"));
    }
    reply = PeersReplyBytes(std::move(peers));
    return absl::OkStatus();
  }

  absl::Status TakeFarewell(const PeerFacts& peer, const v1::FarewellRequest& farewell) {
    if (const absl::Status status = CheckFarewell(farewell); !status.ok()) return Malformed(peer, status.message());
    if (absl::Status status = services_.authorizer.AuthorizeForNode(peer, farewell.job_id(), farewell.node_id());
        !status.ok()) {
      return status;
    }
    const auto unapplied = unapplied_farewells_;  // the loop may apply it after this service is gone
    if (unapplied->fetch_add(1) >= kMaxUnappliedFarewells ||
        !services_.post(FarewellReceived{farewell}, [unapplied] { unapplied->fetch_sub(1); })) {
      unapplied->fetch_sub(1);
      services_.counted.Note(LogLevel::kWarning, "busy", "turned a farewell away: too many are waiting");
      return absl::ResourceExhaustedError("the scheduler is busy: try again");
    }
    return absl::OkStatus();
  }

  absl::Status Malformed(const PeerFacts& peer, absl::string_view why) {
    services_.counted.Note(LogLevel::kWarning, "malformed request",
                           absl::StrCat("turned a call of ", peer.ToString(), " away: ", why));
    return absl::InvalidArgumentError(why);
  }

  const ServiceContext& services_;
  const std::shared_ptr<std::atomic<int>> unapplied_farewells_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSessionService(const ServiceContext& services) {
  return std::make_unique<SessionService>(services);
}

}  // namespace muster::scheduler
