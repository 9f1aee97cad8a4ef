#include "worker_agent/gateway/jax/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/net/grpc_calls.h"
#include "worker_agent/gateway/chassis/grpc_server.h"
#include "worker_agent/gateway/jax/coordination.h"
#include "worker_agent/gateway/jax/dialect.h"

namespace muster::jax {
namespace {

constexpr int kMaxRequestBytes = 32 << 20;     // one of JAX's may have a value of KeyValues::kMaxValueBytes
constexpr size_t kMaxBytesInAll = 256u << 20;  // of gRPC's buffers
constexpr size_t kMaxQueuedBytes = 64u << 20;  // of requests that wait for the strand's thread
constexpr absl::Duration kToAnswer = absl::Seconds(2);
// A process has one; others are a user's tools.
constexpr size_t kConnectionsOfTask = 8;
constexpr size_t kMoreConnections = 64;
constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr char kPayloadTrailer[] = "grpc-status-details-bin";

std::string PayloadsOf(const absl::Status& status) {
  Payloads message;
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& value) {
    (*message.mutable_payloads())[std::string(type)] = std::string(value);
  });
  return message.payloads().empty() ? "" : message.SerializeAsString();
}

using Handle = std::function<void(Request request, SharedHeld held)>;  // any thread

// One call. gRPC's threads read it, the strand's answers it.
class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor(grpc::GenericCallbackServerContext& context, Call call, const Handle& handle)
      : context_(context), call_(call), handle_(handle) {
    StartRead(&buffer_);
  }

  void OnReadDone(bool is_ok) override {
    if (!is_ok) return Answer(absl::CancelledError("there was no request"));
    absl::StatusOr<Request> request = ReadRequest(call_, agent::BytesOf(buffer_));
    buffer_.Clear();
    if (!request.ok()) return Answer(request.status());
    if (call_.method == Method::kRegister || call_.method == Method::kShutdown) request->timeout_ms = LeftToAnswer();
    // This outlives every answer: gRPC calls OnDone only after a Finish, and the first answer is the only one.
    const auto held = std::make_shared<HeldRequest>([this](absl::StatusOr<Reply> reply) { Answer(std::move(reply)); });
    {
      const MutexLock lock(mutex_);
      held_ = held;
    }
    handle_(*std::move(request), held);
    if (context_.IsCancelled()) OnCancel();
  }

  void OnCancel() override {
    SharedHeld held;
    {
      const MutexLock lock(mutex_);
      held = held_;
    }
    if (held != nullptr) held->Tell(absl::CancelledError("the caller has gone"));
  }

  void OnDone() override { delete this; }

 private:
  // Milliseconds; 0: for ever. Who waits for others should hear whom it waits for before it gives up itself.
  int64_t LeftToAnswer() const {
    const absl::Duration left = GrpcTimeLeft(context_.raw_deadline());
    if (left == absl::InfiniteDuration()) return 0;
    return std::max<int64_t>(absl::ToInt64Milliseconds(left - kToAnswer), 1);
  }

  void Answer(absl::StatusOr<Reply> reply) {
    if (reply.ok()) {
      const grpc::Slice slice(WriteReply(call_, *reply));
      buffer_ = grpc::ByteBuffer(&slice, 1);
      return StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
    }
    const std::string payloads = PayloadsOf(reply.status());
    if (!payloads.empty()) context_.AddTrailingMetadata(kPayloadTrailer, payloads);
    Finish(
        grpc::Status(static_cast<grpc::StatusCode>(reply.status().raw_code()), std::string(reply.status().message())));
  }

  grpc::GenericCallbackServerContext& context_;
  const Call call_;
  const Handle& handle_;
  grpc::ByteBuffer buffer_;
  Mutex mutex_;
  SharedHeld held_ ABSL_GUARDED_BY(mutex_);
};

class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const std::string& method) {
    Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                        absl::StrCat("Muster's gateway for JAX does not know ", method.substr(0, 200))));
  }
  void OnDone() override { delete this; }
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(Handle handle) : handle_(std::move(handle)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    const std::optional<Call> call = CallOf(context->method());
    if (!call) return new Refusal(context->method());
    return new Reactor(*context, *call, handle_);
  }

 private:
  const Handle handle_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(JobStore& store, const Clock& clock, agent::TaskLayout layout, uint64_t incarnation)
      : clock_(clock),
        store_(store),
        service_([this](Request request, SharedHeld held) { Queue(std::move(request), std::move(held)); }),
        server_({.whose = "JAX's",
                 .thread = "ms-jax",
                 .most_connections = kMoreConnections + kConnectionsOfTask * layout.agents[layout.own].size(),
                 .most_request_bytes = kMaxRequestBytes,
                 .most_bytes = kMaxBytesInAll,
                 .tick = kTick},
                service_,
                {.is_busy = [this] { return coordination_.IsBusy(); },
                 .turn =
                     [this](const std::function<void()>& steps) {
                       store_.Together(steps);
                       TickIfDue();
                     }},
                clock),
        coordination_(store, clock, server_.post(), std::move(layout), incarnation) {}

  absl::Status Start() { return server_.Start(); }

  ~Impl() {
    server_.Stop([this] { coordination_.End(""); });
  }

  uint16_t port() const { return server_.PortAt(0); }
  void Ended(int32_t task) {
    post_([this, task] { coordination_.Ended(task); });
  }
  void Stop(std::string why, absl::Duration limit) {
    post_([this, why = std::move(why), limit] { coordination_.Stop(why, limit); });
  }
  void End(std::string why) {
    post_([this, why = std::move(why)] { coordination_.End(why); });
  }

 private:
  // Any thread.
  void Queue(Request request, SharedHeld held) {
    const size_t bytes = request.value.size() + request.name.size() + request.tasks.size() * sizeof(request.tasks[0]);
    if (queued_bytes_.fetch_add(bytes) + bytes > kMaxQueuedBytes) {
      queued_bytes_ -= bytes;
      return held->Tell(absl::ResourceExhaustedError(
          absl::StrCat("requests of ", kMaxQueuedBytes, " bytes wait here already: try again later")));
    }
    post_([this, bytes, request = std::move(request), held = std::move(held)]() mutable {
      queued_bytes_ -= bytes;
      coordination_.Handle(std::move(request), std::move(held));
    });
  }

  void TickIfDue() {
    const MonotonicTime now = clock_.Read().monotonic;
    if (now < next_tick_) return;
    coordination_.Tick();
    next_tick_ = now + kTick;
  }

  const Clock& clock_;
  JobStore& store_;
  MonotonicTime next_tick_;  // of the thread
  std::atomic<size_t> queued_bytes_ = 0;
  Service service_;
  agent::GrpcServer server_;
  const agent::Post post_ = server_.post();
  Coordination coordination_;  // of the thread
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(JobStore& store, const Clock& clock, agent::TaskLayout layout,
                                                      uint64_t incarnation) {
  auto impl = std::make_unique<Impl>(store, clock, std::move(layout), incarnation);
  if (absl::Status started = impl->Start(); !started.ok()) return started;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

uint16_t Server::port() const { return impl_->port(); }
void Server::Ended(int32_t task) { impl_->Ended(task); }
void Server::Stop(std::string why, absl::Duration limit) { impl_->Stop(std::move(why), limit); }
void Server::End(std::string why) { impl_->End(std::move(why)); }

}  // namespace muster::jax
