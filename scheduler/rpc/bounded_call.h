// A unary call whose answer counts until its peer has taken it: see ReplyBudget.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/status/status.h"
#include "scheduler/frontend/reply_budget.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/rpc/grpc_bytes.h"

namespace muster::scheduler {

// Deletes itself when gRPC is done with it.
class BoundedCall : public grpc::ServerUnaryReactor {
 public:
  // `busy`: what the call ends with when too many answers of `budget` wait to be taken.
  BoundedCall(const ServiceContext& services, ReplyBudget& budget, grpc::CallbackServerContext* context,
              grpc::StatusCode busy)
      : services_(services), budget_(budget), context_(context), busy_(busy) {}

  // Ends the call with the answer, which has this size, or with an error. Once.
  void Answer(const absl::Status& status, size_t bytes) {
    if (status.ok()) {
      id_ = budget_.Take(bytes, services_.clock.Read().monotonic, services_.reply_limit,
                         [context = context_] { context->TryCancel(); });
      if (!id_.has_value()) {
        services_.counted.Note(Severity::kWarning, "busy", "turned a call away: too many answers wait to be read");
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
