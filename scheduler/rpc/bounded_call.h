// A unary call. Its answer counts in a ReplyBudget until the peer has taken it.
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
  // `busy`: the call's status if too many answers of `budget` wait to be taken.
  BoundedCall(const ServiceContext& services, ReplyBudget& budget, grpc::CallbackServerContext* context,
              grpc::StatusCode busy)
      : services_(services), budget_(budget), context_(context), busy_(busy) {}

  // Ends the call with the answer, of this size, or with an error. Call it once.
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
