#include <utility>

#include "muster/v1/store.grpc.pb.h"
#include "scheduler/rpc/bounded_call.h"
#include "scheduler/rpc/services.h"
#include "scheduler/rpc/store_call.h"
#include "scheduler/rpc/store_stream.h"

namespace muster::scheduler {
namespace {

using Reactor = grpc::ServerUnaryReactor;
using Context = grpc::CallbackServerContext;

class StoreService : public v1::Store::CallbackService {
 public:
  StoreService(const ServiceContext& services, StoreCalls& calls) : services_(services), calls_(calls) {}

  // Leaves the call open until the core has answered or a time limit is over. No thread waits meanwhile.
  Reactor* ReportReplicas(Context* context, const v1::ReplicasReport* request, v1::StoreReply* reply) override {
    // Too many unread answers end the call with UNAVAILABLE, as the limits of StoreCalls do. The client may try again.
    auto* call = new BoundedCall(services_, services_.store_replies, context, grpc::StatusCode::UNAVAILABLE);
    CallStore(services_, calls_, *services_.peers.Find(context->peer()), *request, [call, reply](auto answer) {
      if (answer.ok()) *reply = std::move(*answer);
      call->Answer(answer.status(), answer.ok() ? reply->ByteSizeLong() : 0);
    });
    return call;
  }
  grpc::ServerBidiReactor<v1::StoreRequests, v1::StoreAnswers>* Stream(Context* context) override {
    return StoreStream::Begin(services_, calls_, context);
  }

 private:
  const ServiceContext& services_;
  StoreCalls& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStoreService(const ServiceContext& services, StoreCalls& calls) {
  return std::make_unique<StoreService>(services, calls);
}

}  // namespace muster::scheduler
