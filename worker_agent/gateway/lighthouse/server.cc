#include "worker_agent/gateway/lighthouse/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/chassis/grpc_server.h"

namespace muster::lighthouse {
namespace {

constexpr int kMaxRequestBytes = 2 * static_cast<int>(kMaxReplicaMemberBytes);
constexpr size_t kMaxBytesInAll = 64u << 20;  // of gRPC's buffers
// The processes of a replica group have one or two each; others are a user's tools.
constexpr size_t kConnectionsOfSlot = 8;
constexpr size_t kMoreConnections = 64;
constexpr absl::Duration kTick = absl::Milliseconds(50);

constexpr char kQuorumMethod[] = "/torchft.LighthouseService/Quorum";
constexpr char kHeartbeatMethod[] = "/torchft.LighthouseService/Heartbeat";

using Done = Replicas::Done;

// One call, until it is answered or given up: told once, whoever is first.
class HeldCall {
 public:
  explicit HeldCall(Done done) : done_(std::move(done)) {}
  void Tell(absl::StatusOr<std::string> reply) {
    Done done;
    {
      const MutexLock lock(mutex_);
      done = std::exchange(done_, nullptr);
    }
    if (done) done(std::move(reply));
  }

 private:
  Mutex mutex_;
  Done done_ ABSL_GUARDED_BY(mutex_);
};
using SharedCall = std::shared_ptr<HeldCall>;

struct Asked {
  bool is_quorum = false;
  std::optional<uint32_t> slot;  // whose port it came through
  std::string request;
};
struct Handlers {  // any thread
  std::function<std::optional<uint32_t>(const std::string& peer)> slot_of;
  std::function<void(Asked asked, SharedCall call)> handle;
  std::function<void(SharedCall call)> give_up;
};

class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor(grpc::GenericCallbackServerContext& context, const Handlers& handlers)
      : context_(context), handlers_(handlers) {
    const bool is_known = context.method() == kQuorumMethod || context.method() == kHeartbeatMethod;
    if (is_known) {
      StartRead(&buffer_);
    } else {
      Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, absl::StrCat("Muster's gateway for torchft does not know ",
                                                                        context.method().substr(0, 200))));
    }
  }

  void OnReadDone(bool is_ok) override {
    // This outlives every answer: gRPC calls OnDone only after a Finish, and the first answer is the only one.
    call_ = std::make_shared<HeldCall>([this](absl::StatusOr<std::string> reply) { Answer(std::move(reply)); });
    if (!is_ok) return call_->Tell(absl::CancelledError("there was no request"));
    const SharedCall call = call_;
    {
      const MutexLock lock(mutex_);
      has_begun_ = true;
    }
    handlers_.handle({context_.method() == kQuorumMethod, handlers_.slot_of(context_.peer()), agent::BytesOf(buffer_)},
                     call);
    if (context_.IsCancelled()) GiveUp(call);
  }

  void OnCancel() override {
    {
      const MutexLock lock(mutex_);
      if (!has_begun_) return;  // OnReadDone comes
    }
    GiveUp(call_);
  }

  void OnDone() override { delete this; }

 private:
  // Told here, too: at the server's end nobody carries out steps any more, and gRPC waits for each call.
  void GiveUp(const SharedCall& call) {
    handlers_.give_up(call);
    call->Tell(absl::CancelledError("the caller has gone"));
  }

  void Answer(absl::StatusOr<std::string> reply) {
    if (!reply.ok()) {
      return Finish(grpc::Status(static_cast<grpc::StatusCode>(reply.status().raw_code()),
                                 std::string(reply.status().message())));
    }
    const grpc::Slice slice(*reply);
    buffer_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
  }

  grpc::GenericCallbackServerContext& context_;
  const Handlers& handlers_;
  grpc::ByteBuffer buffer_;
  SharedCall call_;
  Mutex mutex_;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(Handlers handlers) : handlers_(std::move(handlers)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*context, handlers_);
  }

 private:
  const Handlers handlers_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(Settings settings, uint32_t slots, SendReport send, const Clock& clock, uint64_t& last_number)
      : clock_(clock),
        send_(std::move(send)),
        replicas_(std::move(settings), last_number),
        service_({.slot_of = [this](const std::string& peer) { return server_.IndexOf(peer); },
                  .handle =
                      [this](Asked asked, SharedCall call) {
                        post_([this, asked = std::move(asked), call = std::move(call)] { Handle(asked, call); });
                      },
                  .give_up =
                      [this](SharedCall call) {
                        post_([this, call = std::move(call)] {
                          if (const auto number = calls_.find(call.get()); number != calls_.end()) {
                            replicas_.GiveUp(number->second);
                          }
                        });
                      }}),
        server_({.whose = "torchft's",
                 .thread = "ms-lighthouse",
                 .ports = slots,
                 .most_connections = kMoreConnections + kConnectionsOfSlot * slots,
                 .most_request_bytes = kMaxRequestBytes,
                 .most_bytes = kMaxBytesInAll,
                 .tick = kTick},
                service_,
                {.is_busy = [this] { return replicas_.IsBusy(); },
                 .turn =
                     [this](const std::function<void()>& steps) {
                       steps();
                       SendWhatIsDue();
                     }},
                clock) {}

  absl::Status Start() { return server_.Start(); }

  ~Impl() {
    server_.Stop([this] { replicas_.End(""); });
  }

  uint16_t PortOf(uint32_t slot) const { return server_.PortAt(slot); }
  void Ended(uint32_t slot) {
    post_([this, slot] { replicas_.Ended(slot); });
  }
  void End(std::string why) {
    post_([this, why = std::move(why)] { replicas_.End(why); });
  }

 private:
  void Handle(const Asked& asked, const SharedCall& call) {
    const MonotonicTime now = clock_.Read().monotonic;
    if (!asked.is_quorum) {
      const absl::Status taken = replicas_.Beat(asked.slot, asked.request, now);
      return call->Tell(taken.ok() ? absl::StatusOr<std::string>("") : taken);
    }
    const absl::StatusOr<uint64_t> number = replicas_.Ask(
        asked.slot, asked.request,
        [this, call](absl::StatusOr<std::string> reply) {
          calls_.erase(call.get());
          call->Tell(std::move(reply));
        },
        now);
    if (!number.ok()) return call->Tell(number.status());
    calls_[call.get()] = *number;
  }

  void SendWhatIsDue() {
    while (auto report = replicas_.NextReport(clock_.Read().monotonic)) {
      const uint64_t number = report->number();
      send_(*std::move(report), [this, number, post = post_](absl::StatusOr<v1::StoreReply> reply) {
        post([this, number, reply = std::move(reply)]() mutable {
          const std::string problem = replicas_.Replied(number, std::move(reply), clock_.Read().monotonic);
          if (problem.empty() || problem == last_problem_) return;
          last_problem_ = problem;
          Log(Severity::kWarning, absl::StrCat("torchft's lighthouse does not serve this node: ", problem));
        });
      });
    }
  }

  const Clock& clock_;
  const SendReport send_;
  // These are of the server's thread, once it runs.
  Replicas replicas_;
  std::map<const HeldCall*, uint64_t> calls_;  // of Quorum, that wait
  std::string last_problem_;

  Service service_;
  agent::GrpcServer server_;
  const agent::Post post_ = server_.post();
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Settings settings, uint32_t slots, SendReport send,
                                                      const Clock& clock, uint64_t& last_number) {
  auto impl = std::make_unique<Impl>(std::move(settings), slots, std::move(send), clock, last_number);
  if (absl::Status started = impl->Start(); !started.ok()) return started;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

uint16_t Server::PortOf(uint32_t slot) const { return impl_->PortOf(slot); }
void Server::Ended(uint32_t slot) { impl_->Ended(slot); }
void Server::End(std::string why) { impl_->End(std::move(why)); }

}  // namespace muster::lighthouse
