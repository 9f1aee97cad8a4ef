#include "scheduler/ingress/grpc/poller_waker.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/base/mutex.h"

namespace muster::scheduler {

class PollerWaker::Impl {
 public:
  // Waits until the call in flight has ended. Otherwise one of gRPC's own threads could release the channel, and with
  // it the thread pool to which that thread belongs.
  ~Impl() {
    MutexLock lock(mutex_);
    while (asked_ != woken_) answered_.Wait(mutex_);
  }

  void Wake() {
    {
      MutexLock lock(mutex_);
      if (asked_ != woken_) return;  // the last call is still in flight, so gRPC's threads are busy and awake
      ++asked_;
    }
    auto call = std::make_unique<Call>();
    Call& parts = *call.release();
    stub_.UnaryCall(&parts.context, "/muster/Wake", {}, &parts.request, &parts.reply,
                    [this, &parts](const grpc::Status&) {
                      std::unique_ptr<Call>(&parts).reset();
                      MutexLock lock(mutex_);
                      ++woken_;
                      answered_.NotifyAll();
                    });
  }

  uint64_t woken() const {
    MutexLock lock(mutex_);
    return woken_;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    const grpc::Slice nothing;
    const grpc::ByteBuffer request{&nothing, 1};  // a request without a slice can't be sent
    grpc::ByteBuffer reply;
  };

  grpc::GenericStub stub_{grpc::CreateChannel("nowhere", nullptr)};  // without credentials every call fails at once
  mutable Mutex mutex_;
  CondVar answered_;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t woken_ ABSL_GUARDED_BY(mutex_) = 0;
};

PollerWaker::PollerWaker() : impl_(std::make_unique<Impl>()) {}
PollerWaker::~PollerWaker() = default;

void PollerWaker::Wake() { impl_->Wake(); }

uint64_t PollerWaker::woken() const { return impl_->woken(); }

}  // namespace muster::scheduler
