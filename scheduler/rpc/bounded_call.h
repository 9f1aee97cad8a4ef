// A unary call. Its answer counts in a ReplyBudget until the peer has read it. So clients that don't read their
// answers can't fill the memory.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/status/status.h"
#include "scheduler/frontend/reply_budget.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/rpc/grpc_bytes.h"

namespace muster::scheduler {

// Deletes itself once gRPC has finished with it.
class BoundedCall : public grpc::ServerUnaryReactor {
 public:
  // `busy`: the status with which the call ends if `budget` has no room, because too many answers wait to be read.
  BoundedCall(const ServiceContext& services, ReplyBudget& budget, grpc::CallbackServerContext* context,
              grpc::StatusCode busy)
      : services_(services), budget_(budget), context_(context), busy_(busy) {}

  // Ends the call: with an error, or with the answer, which the caller has written to gRPC's reply. `bytes`: the
  // answer's size. Call it once.
  void Answer(const absl::Status& status, size_t bytes) {
    if (status.ok()) {
      id_ = budget_.Take(bytes, services_.clock.Read().monotonic, services_.reply_limit,
                         [context = context_] { context->TryCancel(); });
      if (!id_.has_value()) {
        services_.counted.Note(Severity::kWarning, "busy", "refused a call: too many answers wait to be read");
        return Finish(grpc::Status(busy_, "too many answers wait to be read: try again later"));
      }
    }
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override {
    if (id_.has_value()) budget_.Return(*id_);
    delete this;
  }

 private:
  const ServiceContext& services_;
  ReplyBudget& budget_;
  grpc::CallbackServerContext* const context_;
  const grpc::StatusCode busy_;
  std::optional<ReplyBudget::Id> id_;
};

}  // namespace muster::scheduler
