#include "scheduler/rpc/store_service.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/store.grpc.pb.h"
#include "scheduler/rpc/bounded_call.h"

namespace muster::scheduler {
namespace {

using Reactor = grpc::ServerUnaryReactor;
using Context = grpc::CallbackServerContext;

class StoreService : public v1::Store::CallbackService {
 public:
  StoreService(const ServiceContext& services, StoreCalls& calls) : services_(services), calls_(calls) {}

  Reactor* Set(Context* context, const v1::StoreSet* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* Get(Context* context, const v1::StoreGet* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* Wait(Context* context, const v1::StoreWait* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* Delete(Context* context, const v1::StoreDelete* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* Add(Context* context, const v1::StoreAdd* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* CompareAndSet(Context* context, const v1::StoreSwap* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* ReportReplicas(Context* context, const v1::ReplicasReport* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }
  Reactor* List(Context* context, const v1::StoreList* request, v1::StoreReply* reply) override {
    return Call(context, *request, reply);
  }

 private:
  // The call stays open until the core has answered, or its time is up; no thread waits for it.
  template <typename Request>
  Reactor* Call(Context* context, const Request& request, v1::StoreReply* reply) {
    // Beyond the budget as beyond the limits of StoreCalls: it may come again.
    auto* call = new BoundedCall(services_, services_.store_replies, context, grpc::StatusCode::UNAVAILABLE);
    const std::shared_ptr<const PeerFacts> caller_facts = services_.peers.Find(context->peer());
    const PeerFacts& peer = *caller_facts;
    const v1::StoreCaller& caller = request.caller();
    absl::Status allowed = caller.node_id().empty()
                               ? absl::InvalidArgumentError("node_id is empty")
                               : services_.authorizer.AuthorizeForNode(peer, caller.job_id(), caller.node_id());
    if constexpr (std::is_same_v<Request, v1::ReplicasReport>) {
      // A lighthouse's name is like a job's: whose certificate is for one job has the lighthouse of that name.
      if (allowed.ok()) {
        allowed = services_.authorizer.AuthorizeForNode(peer, request.lighthouse(), caller.node_id());
      }
    }
    if (!allowed.ok()) {
      services_.counted.Note(
          Severity::kWarning, absl::IsInvalidArgument(allowed) ? "malformed request" : KindOf(allowed),
          absl::StrCat("turned a call of the store by ", peer.ToString(), " away: ", allowed.message()));
      call->Answer(allowed, 0);
      return call;
    }
    calls_.Call(request, peer.identity, [call, reply, &counted = services_.counted](auto answer) {
      if (answer.ok()) *reply = std::move(*answer);
      // A round that is over is the way of things; what is refused for its form or for want of room is told.
      if (absl::IsInvalidArgument(answer.status()) || absl::IsResourceExhausted(answer.status()) ||
          absl::IsUnavailable(answer.status())) {
        counted.Note(Severity::kWarning, "store refused",
                     absl::StrCat("turned a call of the store away: ", answer.status().message()));
      }
      call->Answer(answer.status(), answer.ok() ? reply->ByteSizeLong() : 0);
    });
    return call;
  }

  const ServiceContext& services_;
  StoreCalls& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStoreService(const ServiceContext& services, StoreCalls& calls) {
  return std::make_unique<StoreService>(services, calls);
}

}  // namespace muster::scheduler
