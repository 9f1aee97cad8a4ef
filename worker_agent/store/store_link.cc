#include "worker_agent/store/store_link.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/net/grpc_calls.h"
#include "common/sys/threads.h"
#include "muster/v1/store.grpc.pb.h"
#include "worker_agent/store/link_tag.h"
#include "worker_agent/store/store_stream.h"

namespace muster::agent {
namespace {

using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<v1::StoreReply>>;

struct Ongoing : LinkTag {
  using Done = std::function<void(Ongoing& call)>;  // must delete the call, which no one else owns

  void Happened(bool /*is_ok*/) override { done(*this); }

  Done done;
  uint64_t number = 0;
  std::shared_ptr<v1::Store::Stub> stub;  // keeps the channel alive as long as the call
  grpc::ClientContext context;
  grpc::Status status;
  v1::StoreReply reply;
  Reader reader;
  grpc::Alarm at_once;  // puts the call on the queue if there is no channel
};

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

class StoreLink::Impl {
 public:
  explicit Impl(OnReply on_reply) : on_reply_(std::move(on_reply)) {}

  ~Impl() {
    SetChannel(nullptr);
    std::thread thread;
    {
      MutexLock lock(mutex_);
      is_closed_ = true;
      while (streams_ > 0) ended_.Wait(mutex_);  // the queue has yet to deliver the end of each one
      queue_.Shutdown();
      thread = std::move(thread_);
    }
    if (thread.joinable()) {
      thread.join();
    } else {
      TakeReplies();  // the queue is empty, but gRPC requires that it is drained after Shutdown
    }
  }

  void SetChannel(std::shared_ptr<grpc::Channel> channel) {
    MutexLock lock(mutex_);
    stub_ = channel == nullptr ? nullptr : std::shared_ptr<v1::Store::Stub>(v1::Store::NewStub(channel));
    for (Ongoing* call : under_way_) call->context.TryCancel();
    if (stream_ != nullptr) stream_->Cancel();
    stream_ = nullptr;
  }

  void Call(const std::vector<StoreCore::Send>& sends) {
    absl::Status status;
    {
      MutexLock lock(mutex_);
      status = Begun(sends);
    }
    if (status.ok()) return;
    for (const StoreCore::Send& send : sends) on_reply_(send.call, status);
  }

  void Report(uint64_t number, const v1::ReplicasReport& report, absl::Duration limit) {
    absl::Status status;
    {
      MutexLock lock(mutex_);
      status = HaveThread();
      if (status.ok() && !is_closed_) stub_ == nullptr ? FinishAtOnce(number) : StartReport(number, report, limit);
    }
    if (!status.ok()) on_reply_(number, status);
  }

 private:
  absl::Status Begun(const std::vector<StoreCore::Send>& sends) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (absl::Status status = HaveThread(); !status.ok()) return status;
    if (is_closed_) return absl::OkStatus();
    if (stub_ == nullptr) {
      for (const StoreCore::Send& send : sends) FinishAtOnce(send.call);
      return absl::OkStatus();
    }
    if (stream_ != nullptr && stream_->Ask(sends)) return absl::OkStatus();
    stream_ = NewStream();
    stream_->Ask(sends);
    return absl::OkStatus();
  }

  void StartReport(uint64_t number, const v1::ReplicasReport& report, absl::Duration limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::unique_ptr<Ongoing> call = NewCall(number);
    call->stub = stub_;
    call->context.set_deadline(GrpcDeadline(limit));
    call->reader = stub_->AsyncReportReplicas(&call->context, report, &queue_);
    call->reader->Finish(&call->reply, &call->status, static_cast<LinkTag*>(call.get()));
    under_way_.insert(call.release());
  }

  // Starts the thread if it does not run yet. That is not done earlier, since most jobs don't use the store, and a
  // thread that waits on a completion queue takes part in all of gRPC's polling.
  absl::Status HaveThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_closed_ || thread_.joinable()) return absl::OkStatus();
    absl::StatusOr<std::thread> thread = TryThread([this] {
      pthread_setname_np(pthread_self(), "ms-store");
      TakeReplies();
    });
    if (!thread.ok()) return absl::UnavailableError(std::string(thread.status().message()));
    thread_ = *std::move(thread);
    return absl::OkStatus();
  }

  std::shared_ptr<StoreStream> NewStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto stream = std::make_shared<StoreStream>(
        stub_,
        StoreStream::Hooks{[this](v1::StoreAnswer& answer) { Answered(answer); },
                           [this](const StoreStream& ended, const grpc::Status& status, StoreStream::Sends unanswered) {
                             StreamEnded(ended, status, std::move(unanswered));
                           }});
    ++streams_;
    stream->Begin(queue_);
    return stream;
  }

  void Answered(v1::StoreAnswer& answer) {
    if (answer.code() == 0) return on_reply_(answer.call(), std::move(*answer.mutable_reply()));
    on_reply_(answer.call(), ToAbsl(grpc::Status(static_cast<grpc::StatusCode>(answer.code()), answer.message())));
  }

  void StreamEnded(const StoreStream& ended, const grpc::Status& status, StoreStream::Sends unanswered) {
    {
      MutexLock lock(mutex_);
      if (stream_.get() == &ended) stream_ = nullptr;  // otherwise a new one has replaced it
    }
    for (const auto& [call, send] : unanswered) {
      on_reply_(call,
                absl::UnavailableError(absl::StrCat("the stream to the scheduler ended: ", status.error_message())));
    }
    MutexLock lock(mutex_);
    --streams_;
    ended_.NotifyAll();
  }

  std::unique_ptr<Ongoing> NewCall(uint64_t number) {
    auto call = std::make_unique<Ongoing>();
    call->done = [this](Ongoing& ended) { Replied(std::unique_ptr<Ongoing>(&ended)); };
    call->number = number;
    return call;
  }

  // Answers a call for which there is no channel. The answer goes through the queue, so that the link's thread gives
  // it.
  void FinishAtOnce(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::unique_ptr<Ongoing> call = NewCall(number);
    call->status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "there is no connection to the scheduler");
    call->at_once.Set(&queue_, GrpcDeadline(absl::ZeroDuration()), static_cast<LinkTag*>(call.get()));
    under_way_.insert(call.release());
  }

  void Replied(std::unique_ptr<Ongoing> call) {
    {
      MutexLock lock(mutex_);
      under_way_.erase(call.get());
    }
    if (call->status.ok()) {
      on_reply_(call->number, std::move(call->reply));
    } else {
      on_reply_(call->number, ToAbsl(call->status));
    }
  }

  void TakeReplies() {
    void* tag = nullptr;
    bool is_ok = false;
    while (queue_.Next(&tag, &is_ok)) static_cast<LinkTag*>(tag)->Happened(is_ok);
  }

  const OnReply on_reply_;
  grpc::CompletionQueue queue_;
  Mutex mutex_;
  CondVar ended_;
  std::shared_ptr<v1::Store::Stub> stub_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<StoreStream> stream_ ABSL_GUARDED_BY(mutex_);  // the open stream of stub_; null: none is open
  size_t streams_ ABSL_GUARDED_BY(mutex_) = 0;                   // the number of streams that have not ended
  std::set<Ongoing*> under_way_ ABSL_GUARDED_BY(mutex_);         // the reports in progress; owned by the queue
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // started by the first call
};

StoreLink::StoreLink(OnReply on_reply) : impl_(std::make_unique<Impl>(std::move(on_reply))) {}
StoreLink::~StoreLink() = default;

void StoreLink::SetChannel(std::shared_ptr<grpc::Channel> channel) { impl_->SetChannel(std::move(channel)); }
void StoreLink::Call(const std::vector<StoreCore::Send>& sends) { impl_->Call(sends); }
void StoreLink::Report(uint64_t call, const v1::ReplicasReport& report, absl::Duration limit) {
  impl_->Report(call, report, limit);
}

}  // namespace muster::agent
