#include "worker_agent/store/store_link.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <set>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/net/grpc_calls.h"
#include "common/sys/threads.h"
#include "muster/v1/store.grpc.pb.h"

namespace muster::agent {
namespace {

using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<v1::StoreReply>>;

struct Ongoing {
  uint64_t number = 0;
  std::shared_ptr<v1::Store::Stub> stub;  // keeps the channel for as long as the call lasts
  grpc::ClientContext context;
  grpc::Status status;
  v1::StoreReply reply;
  Reader reader;
  grpc::Alarm no_channel;
};

// One for each kind of request.
class Begin {
 public:
  Begin(Ongoing& call, grpc::CompletionQueue& queue) : call_(call), queue_(queue) {}
  Reader operator()(const v1::StoreSet& r) const { return call_.stub->AsyncSet(&call_.context, r, &queue_); }
  Reader operator()(const v1::StoreGet& r) const { return call_.stub->AsyncGet(&call_.context, r, &queue_); }
  Reader operator()(const v1::StoreWait& r) const { return call_.stub->AsyncWait(&call_.context, r, &queue_); }
  Reader operator()(const v1::StoreDelete& r) const { return call_.stub->AsyncDelete(&call_.context, r, &queue_); }
  Reader operator()(const v1::StoreAdd& r) const { return call_.stub->AsyncAdd(&call_.context, r, &queue_); }
  Reader operator()(const v1::StoreSwap& r) const { return call_.stub->AsyncCompareAndSet(&call_.context, r, &queue_); }
  Reader operator()(const v1::StoreList& r) const { return call_.stub->AsyncList(&call_.context, r, &queue_); }

 private:
  Ongoing& call_;
  grpc::CompletionQueue& queue_;
};

absl::Status ToAbsl(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnimplementedError(
        "the scheduler is older than this ms-worker, and its store lacks what is asked for");
  }
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
      queue_.Shutdown();
      thread = std::move(thread_);
    }
    if (thread.joinable()) {
      thread.join();
    } else {
      TakeReplies();  // there are none, but the queue wants to be asked
    }
  }

  void SetChannel(std::shared_ptr<grpc::Channel> channel) {
    MutexLock lock(mutex_);
    stub_ = channel == nullptr ? nullptr : std::shared_ptr<v1::Store::Stub>(v1::Store::NewStub(channel));
    for (Ongoing* call : under_way_) call->context.TryCancel();
  }

  // `begin(ongoing, queue)` makes the reader.
  template <typename MakeReader>
  void Start(uint64_t number, absl::Duration limit, const MakeReader& begin) {
    if (const absl::Status status = Begun(number, limit, begin); !status.ok()) on_reply_(number, status);
  }

 private:
  template <typename MakeReader>
  absl::Status Begun(uint64_t number, absl::Duration limit, const MakeReader& begin) {
    MutexLock lock(mutex_);
    if (is_closed_) return absl::OkStatus();
    // Not before: a thread that waits here takes part in all of gRPC's polling, and most jobs keep nothing in the
    // store.
    if (!thread_.joinable()) {
      absl::StatusOr<std::thread> thread = TryThread([this] {
        pthread_setname_np(pthread_self(), "ms-store");
        TakeReplies();
      });
      if (!thread.ok()) return absl::UnavailableError(std::string(thread.status().message()));
      thread_ = *std::move(thread);
    }
    auto call = std::make_unique<Ongoing>();
    call->number = number;
    call->stub = stub_;
    if (stub_ == nullptr) {
      call->status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "there is no connection to the scheduler");
      call->no_channel.Set(&queue_, GrpcDeadline(absl::ZeroDuration()), call.get());
    } else {
      call->context.set_deadline(GrpcDeadline(limit));
      call->reader = begin(*call, queue_);
      call->reader->Finish(&call->reply, &call->status, call.get());
    }
    under_way_.insert(call.release());
    return absl::OkStatus();
  }

  void TakeReplies() {
    void* tag = nullptr;
    bool is_ok = false;
    while (queue_.Next(&tag, &is_ok)) {
      const std::unique_ptr<Ongoing> call(static_cast<Ongoing*>(tag));
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
  }

  const OnReply on_reply_;
  grpc::CompletionQueue queue_;
  Mutex mutex_;
  std::shared_ptr<v1::Store::Stub> stub_ ABSL_GUARDED_BY(mutex_);
  std::set<Ongoing*> under_way_ ABSL_GUARDED_BY(mutex_);  // owned by the queue
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // from the first call on
};

StoreLink::StoreLink(OnReply on_reply) : impl_(std::make_unique<Impl>(std::move(on_reply))) {}
StoreLink::~StoreLink() = default;

void StoreLink::SetChannel(std::shared_ptr<grpc::Channel> channel) { impl_->SetChannel(std::move(channel)); }
void StoreLink::Call(StoreCore::Send send) {
  impl_->Start(send.call, send.limit, [&](Ongoing& call, grpc::CompletionQueue& queue) {
    return std::visit(Begin(call, queue), send.operation);
  });
}
void StoreLink::Report(uint64_t call, v1::ReplicasReport report, absl::Duration limit) {
  impl_->Start(call, limit, [&](Ongoing& ongoing, grpc::CompletionQueue& queue) {
    return ongoing.stub->AsyncReportReplicas(&ongoing.context, report, &queue);
  });
}

}  // namespace muster::agent
