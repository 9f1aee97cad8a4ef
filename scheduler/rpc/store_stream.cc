#include "scheduler/rpc/store_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/rpc/store_call.h"

namespace muster::scheduler {
namespace {

// A message with answers of this many bytes is full. (Agents refuse much larger messages.)
constexpr size_t kMessageBytes = 1 << 20;

absl::StatusOr<StoreOperation> OperationOf(v1::StoreRequest& request) {
  switch (request.operation_case()) {
    case v1::StoreRequest::kSet:
      return std::move(*request.mutable_set());
    case v1::StoreRequest::kGet:
      return std::move(*request.mutable_get());
    case v1::StoreRequest::kWait:
      return std::move(*request.mutable_wait());
    case v1::StoreRequest::kDelete:
      return std::move(*request.mutable_delete_());
    case v1::StoreRequest::kAdd:
      return std::move(*request.mutable_add());
    case v1::StoreRequest::kCompareAndSet:
      return std::move(*request.mutable_compare_and_set());
    case v1::StoreRequest::kList:
      return std::move(*request.mutable_list());
    case v1::StoreRequest::kBatch:
      return std::move(*request.mutable_batch());
    case v1::StoreRequest::OPERATION_NOT_SET:
      break;
  }
  return absl::UnimplementedError("this version of ms-scheduler does not know this kind of request");
}

}  // namespace

StoreStream* StoreStream::Begin(const ServiceContext& services, StoreCalls& calls,
                                grpc::CallbackServerContext* context) {
  const std::shared_ptr<StoreStream> stream(new StoreStream(services, calls, context));
  stream->self_ = stream;
  stream->Pump();
  return stream.get();
}

void StoreStream::OnReadDone(bool ok) {
  if (!ok) return EndWith(grpc::Status::OK);  // the agent has closed the stream
  v1::StoreRequests requests = std::exchange(incoming_, {});
  if (requests.requests_size() > kMaxStoreRequests) {
    return EndWith(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                                absl::StrCat("a message may hold at most ", kMaxStoreRequests, " store requests")));
  }
  {
    MutexLock lock(mutex_);
    unanswered_ += static_cast<size_t>(requests.requests_size());
  }
  const std::shared_ptr<const PeerFacts> peer = services_.peers.Find(context_->peer());  // looked up for each message
  for (v1::StoreRequest& request : *requests.mutable_requests()) Ask(*peer, request);
  {
    MutexLock lock(mutex_);
    wants_read_ = true;
  }
  Pump();
}

void StoreStream::Ask(const PeerFacts& peer, v1::StoreRequest& request) {
  const uint64_t call = request.call();
  absl::StatusOr<StoreOperation> operation = OperationOf(request);
  if (!operation.ok()) return Answered(call, operation.status());
  CallStore(services_, calls_, peer, *std::move(operation),
            [self = shared_from_this(), call](auto reply) { self->Answered(call, std::move(reply)); });
}

void StoreStream::Answered(uint64_t call, absl::StatusOr<v1::StoreReply> reply) {
  Waiting waiting;
  waiting.answer.set_call(call);
  {
    MutexLock lock(mutex_);
    --unanswered_;
    if (is_over_) return;  // gRPC may have freed context_
    if (reply.ok()) {
      waiting.id = services_.store_replies.Take(reply->ByteSizeLong(), services_.clock.Read().monotonic,
                                                services_.reply_limit, [context = context_] { context->TryCancel(); });
      if (!waiting.id) reply = absl::UnavailableError("too many answers wait to be read: try again later");
    }
    if (reply.ok()) {
      *waiting.answer.mutable_reply() = *std::move(reply);
    } else {
      waiting.answer.set_code(static_cast<uint32_t>(reply.status().raw_code()));
      waiting.answer.set_message(std::string(reply.status().message()));
    }
    waiting_.push_back(std::move(waiting));
    if (is_writing_ || waiting_.size() > 1) return;  // another thread will send the next message with this answer
  }
  if (!calls_.AtTurnEnd([self = shared_from_this()] { self->Pump(); })) Pump();
}

void StoreStream::EndWith(const grpc::Status& status) {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(is_over_, true)) status_ = status;
  }
  Pump();
}

StoreStream::Step StoreStream::NextStep() {
  if (is_over_) {
    const bool may_finish = !is_finished_ && !is_writing_ && starting_ == 0;
    if (may_finish) is_finished_ = true;
    return may_finish ? Step::kFinish : Step::kNone;
  }
  if (wants_read_ && unanswered_ < kMaxStoreStreamCalls) {
    wants_read_ = false;
    return Step::kRead;
  }
  if (!is_writing_ && !waiting_.empty()) {
    is_writing_ = true;
    outgoing_.Clear();
    for (size_t bytes = 0; !waiting_.empty() && bytes < kMessageBytes; waiting_.pop_front()) {
      Waiting& next = waiting_.front();
      bytes += next.answer.ByteSizeLong();
      if (next.id) writing_ids_.push_back(*next.id);
      *outgoing_.add_answers() = std::move(next.answer);
    }
    return Step::kWrite;
  }
  return Step::kNone;
}

void StoreStream::Pump() {
  const std::shared_ptr<StoreStream> alive = shared_from_this();
  StartSteps();
}

void StoreStream::OnWriteDone(bool ok) {
  std::vector<ReplyBudget::Id> taken;
  {
    MutexLock lock(mutex_);
    is_writing_ = false;
    taken = std::exchange(writing_ids_, {});
    if (!ok) is_over_ = true;  // the stream was broken off, so status_ does not matter
  }
  for (const ReplyBudget::Id id : taken) services_.store_replies.Return(id);
  Pump();
}

void StoreStream::OnDone() {
  std::vector<ReplyBudget::Id> left;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    left = std::exchange(writing_ids_, {});
    for (const Waiting& waiting : std::exchange(waiting_, {})) {
      if (waiting.id) left.push_back(*waiting.id);
    }
  }
  for (const ReplyBudget::Id id : left) services_.store_replies.Return(id);
  const std::shared_ptr<StoreStream> last = std::move(self_);
}

}  // namespace muster::scheduler
