#include "scheduler/rpc/poller_waker.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>

namespace muster::scheduler {

class PollerWaker::Impl : public std::enable_shared_from_this<PollerWaker::Impl> {
 public:
  void Wake() {
    if (asked_ != woken_) return;  // gRPC's threads are busy, hence awake
    ++asked_;
    auto call = std::make_unique<Call>();
    Call& parts = *call.release();
    stub_.UnaryCall(&parts.context, "/muster/Wake", {}, &parts.request, &parts.reply,
                    [self = shared_from_this(), &parts](const grpc::Status&) {
                      const std::unique_ptr<Call> ended(&parts);
                      ++self->woken_;
                    });
  }

  uint64_t woken() const { return woken_; }

 private:
  struct Call {
    grpc::ClientContext context;
    const grpc::Slice nothing;
    const grpc::ByteBuffer request{&nothing, 1};  // one without a slice can't be sent
    grpc::ByteBuffer reply;
  };

  grpc::GenericStub stub_{grpc::CreateChannel("nowhere", nullptr)};  // without credentials every call fails at once
  uint64_t asked_ = 0;                                               // the caller's own
  std::atomic<uint64_t> woken_ = 0;
};

PollerWaker::PollerWaker() : impl_(std::make_shared<Impl>()) {}
PollerWaker::~PollerWaker() = default;

void PollerWaker::Wake() { impl_->Wake(); }

uint64_t PollerWaker::woken() const { return impl_->woken(); }

}  // namespace muster::scheduler
