#include "worker_agent/gateway/lighthouse/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "common/net/grpc_calls.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "worker_agent/gateway/grpc_door.h"

namespace muster::lighthouse {
namespace {

constexpr int kMaxRequestBytes = 2 * static_cast<int>(kMaxReplicaMemberBytes);
constexpr size_t kMaxBytesInAll = 64u << 20;  // of gRPC's buffers
constexpr absl::Duration kEndPatience = absl::Milliseconds(200);
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
  std::string peer;  // as gRPC names the connection
  std::string request;
};
struct Handlers {  // any thread
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
    handlers_.handle({context_.method() == kQuorumMethod, context_.peer(), agent::BytesOf(buffer_)}, call);
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

// The thread accepts connections, which gRPC takes over, and carries out the steps.
class Server::Impl {
 public:
  Impl(Settings settings, SendReport send, const Clock& clock, uint64_t& last_number)
      : clock_(clock),
        send_(std::move(send)),
        replicas_(std::move(settings), last_number),
        service_({.handle =
                      [this](Asked asked, SharedCall call) {
                        Push([this, asked = std::move(asked), call = std::move(call)] { Handle(asked, call); });
                      },
                  .give_up =
                      [this](SharedCall call) {
                        Push([this, call = std::move(call)] {
                          if (const auto number = calls_.find(call.get()); number != calls_.end()) {
                            replicas_.GiveUp(number->second);
                          }
                        });
                      }}) {}

  absl::Status Start(uint32_t slots) {
    if (!steps_->poller.status().ok()) return steps_->poller.status();
    for (uint32_t slot = 0; slot < slots; ++slot) {
      if (absl::Status opened = doors_.emplace_back("torchft's", steps_->poller, slot).Open(); !opened.ok())
        return opened;
    }
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    builder.SetResourceQuota(grpc::ResourceQuota("torchft").Resize(kMaxBytesInAll));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::ResourceExhaustedError("gRPC has no server for torchft's processes");
    absl::StatusOr<std::thread> thread = TryThread([this] {
      pthread_setname_np(pthread_self(), "ms-lighthouse");
      Run();
    });
    if (!thread.ok()) return thread.status();
    thread_ = *std::move(thread);
    return absl::OkStatus();
  }

  ~Impl() {
    if (thread_.joinable()) {
      Push([this] {
        replicas_.End("");
        SendWhatIsDue();
        is_ending_ = true;
      });
      thread_.join();
    }
    if (server_ != nullptr) server_->Shutdown(GrpcDeadline(kEndPatience));
    server_.reset();  // no call is left
    steps_->mailbox.Close();
  }

  uint16_t PortOf(uint32_t slot) const { return doors_.at(slot).port(); }
  void Ended(uint32_t slot) {
    Push([this, slot] { replicas_.Ended(slot); });
  }
  void End(std::string why) {
    Push([this, why = std::move(why)] { replicas_.End(why); });
  }

 private:
  struct Steps {  // outlives this for as long as the scheduler owes an answer
    Poller poller;
    Mailbox<std::function<void()>> mailbox{[this] { poller.Wake(); }};
  };

  void Push(std::function<void()> step) { steps_->mailbox.Push(std::move(step)); }

  void Handle(const Asked& asked, const SharedCall& call) {
    const MonotonicTime now = clock_.Read().monotonic;
    const std::optional<uint32_t> slot = SlotOf(asked.peer);
    if (!asked.is_quorum) {
      const absl::Status taken = replicas_.Beat(slot, asked.request, now);
      return call->Tell(taken.ok() ? absl::StatusOr<std::string>("") : taken);
    }
    const absl::StatusOr<uint64_t> number = replicas_.Ask(
        slot, asked.request,
        [this, call](absl::StatusOr<std::string> reply) {
          calls_.erase(call.get());
          call->Tell(std::move(reply));
        },
        now);
    if (!number.ok()) return call->Tell(number.status());
    calls_[call.get()] = *number;
  }

  // gRPC names a connection that it took over by its descriptor: "fd:12".
  std::optional<uint32_t> SlotOf(absl::string_view peer) const {
    int descriptor = -1;
    if (!absl::ConsumePrefix(&peer, "fd:") || !absl::SimpleAtoi(peer, &descriptor)) return std::nullopt;
    const auto slot = slots_.find(descriptor);
    return slot == slots_.end() ? std::nullopt : std::optional<uint32_t>(slot->second);
  }

  void Run() {
    while (!is_ending_) {
      bool is_resting = false;
      for (const agent::GrpcDoor& door : doors_) is_resting |= door.IsResting();
      const auto events = steps_->poller.Wait(replicas_.IsBusy() || is_resting ? kTick : absl::InfiniteDuration());
      if (!events.empty() || is_resting) {
        for (uint32_t slot = 0; slot < doors_.size(); ++slot) {
          doors_[slot].Admit(*server_, [&](int descriptor) { slots_[descriptor] = slot; });
        }
      }
      for (const std::function<void()>& step : steps_->mailbox.TakeAll()) step();
      SendWhatIsDue();
    }
  }

  void SendWhatIsDue() {
    while (auto report = replicas_.NextReport(clock_.Read().monotonic)) {
      const uint64_t number = report->number();
      send_(*std::move(report), [this, number, steps = steps_](absl::StatusOr<v1::StoreReply> reply) {
        steps->mailbox.Push([this, number, reply = std::move(reply)]() mutable {
          const std::string problem = replicas_.Replied(number, std::move(reply), clock_.Read().monotonic);
          if (problem.empty() || problem == last_problem_) return;
          last_problem_ = problem;
          Log(Severity::kWarning, absl::StrCat("torchft's lighthouse does not serve this node: ", problem));
        });
      });
    }
  }

  const std::shared_ptr<Steps> steps_ = std::make_shared<Steps>();
  const Clock& clock_;
  const SendReport send_;
  // These are of the thread, once it runs.
  Replicas replicas_;
  std::map<const HeldCall*, uint64_t> calls_;  // of Quorum, that wait
  std::map<int, uint32_t> slots_;              // by descriptor; a number that is used again is another connection's
  std::deque<agent::GrpcDoor> doors_;          // by slot
  std::string last_problem_;
  bool is_ending_ = false;

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Settings settings, uint32_t slots, SendReport send,
                                                      const Clock& clock, uint64_t& last_number) {
  auto impl = std::make_unique<Impl>(std::move(settings), std::move(send), clock, last_number);
  if (absl::Status started = impl->Start(slots); !started.ok()) return started;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

uint16_t Server::PortOf(uint32_t slot) const { return impl_->PortOf(slot); }
void Server::Ended(uint32_t slot) { impl_->Ended(slot); }
void Server::End(std::string why) { impl_->End(std::move(why)); }

}  // namespace muster::lighthouse
