// The stream over which one agent sends its store requests. A message carries many requests, or many answers: all that
// have become ready since the previous message. (A gRPC call for each request would cost several times as much.)
//
// gRPC's threads and the loop's thread call its functions.
#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "muster/v1/store.pb.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/frontend/store_calls.h"
#include "scheduler/rpc/stream_steps.h"

namespace muster::scheduler {

class StoreStream : public StreamSteps<v1::StoreRequests, v1::StoreAnswers>,
                    public std::enable_shared_from_this<StoreStream> {
 public:
  // Starts the stream, which keeps itself alive until gRPC has finished with it. `services` and `calls` must outlive
  // it. A message with more than kMaxStoreRequests ends it with INVALID_ARGUMENT. It reads nothing while
  // kMaxStoreStreamCalls of its requests are unanswered.
  static StoreStream* Begin(const ServiceContext& services, StoreCalls& calls, grpc::CallbackServerContext* context);

  // gRPC's reactor
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  struct Waiting {
    v1::StoreAnswer answer;
    std::optional<ReplyBudget::Id> id;  // none: the answer is an error, which does not count in the budget
  };

  StoreStream(const ServiceContext& services, StoreCalls& calls, grpc::CallbackServerContext* context)
      : services_(services), calls_(calls), context_(context) {}

  void Pump();
  Step NextStep() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ask(const PeerFacts& peer, v1::StoreRequest& request);
  void Answered(uint64_t call, absl::StatusOr<v1::StoreReply> reply);
  void EndWith(const grpc::Status& status);

  const ServiceContext& services_;
  StoreCalls& calls_;
  grpc::CallbackServerContext* const context_;  // valid until OnDone
  std::shared_ptr<StoreStream> self_;           // keeps the stream alive until OnDone

  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // answers for the next message
  std::vector<ReplyBudget::Id> writing_ids_ ABSL_GUARDED_BY(mutex_);
  size_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool wants_read_ ABSL_GUARDED_BY(mutex_) = true;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;  // ends with status_; reads and writes nothing more
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::scheduler
