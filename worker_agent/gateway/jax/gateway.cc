#include "worker_agent/gateway/jax/gateway.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "worker_agent/gateway/chassis/grpc_server.h"
#include "worker_agent/gateway/chassis/round_gateway.h"
#include "worker_agent/gateway/chassis/round_layout.h"
#include "worker_agent/gateway/jax/coordination.h"
#include "worker_agent/gateway/jax/messages.pb.h"
#include "worker_agent/gateway/jax/request.h"

namespace muster::jax {
namespace {

constexpr int kMaxRequestBytes = 32 << 20;     // one request may have a value of KeyValues::kMaxValueBytes
constexpr size_t kMaxBytesInAll = 256u << 20;  // of gRPC's buffers
constexpr size_t kMaxQueuedBytes = 64u << 20;  // of requests that wait for the gateway's thread
constexpr absl::Duration kToAnswer = absl::Seconds(2);
// A JAX process has one connection; the rest is for a user's tools.
constexpr size_t kConnectionsOfTask = 8;
constexpr size_t kMoreConnections = 64;
constexpr absl::Duration kTick = absl::Milliseconds(100);

std::string PayloadsOf(const absl::Status& status) {
  Payloads message;
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& value) {
    (*message.mutable_payloads())[std::string(type)] = std::string(value);
  });
  return message.payloads().empty() ? "" : message.SerializeAsString();
}

// Returns the service's incarnation. It is the same on all agents of the round. Other rounds and jobs have another one.
uint64_t IncarnationOf(const agent::RoundLayout& layout) {
  const std::string digest = Sha256(absl::StrCat("jax ", layout.id, " ", layout.run, ".", layout.round));
  uint64_t incarnation = 0;
  for (size_t i = 0; i < sizeof(incarnation); ++i) {
    incarnation = incarnation << 8 | static_cast<unsigned char>(digest[i]);
  }
  return incarnation | 1;  // never 0, which means none
}

// Returns how many milliseconds an answer may take; 0: any time. It is less than the time after which the caller gives
// up, so that a caller that waits for other tasks first gets the names of the missing ones.
int64_t LeftToAnswer(absl::Duration left) {
  if (left == absl::InfiniteDuration()) return 0;
  return std::max<int64_t>(absl::ToInt64Milliseconds(left - kToAnswer), 1);
}

// JAX's coordination service in one round. Each request is a step of the server's thread; a waiting request blocks no
// thread.
class Service final : public agent::GrpcService {
 public:
  Service(JobStore& store, const Clock& clock, agent::TaskLayout layout, uint64_t incarnation)
      : clock_(clock),
        store_(store),
        server_({.whose = "JAX",
                 .thread = "ms-jax",
                 .most_connections = kMoreConnections + kConnectionsOfTask * layout.agents[layout.own].size(),
                 .max_request_bytes = kMaxRequestBytes,
                 .most_bytes = kMaxBytesInAll,
                 .tick = kTick},
                *this, clock),
        coordination_(store, clock, server_.post(), std::move(layout), incarnation) {}
  // Ends the waiting requests: the round is over.
  ~Service() override {
    server_.Stop([this] { coordination_.End(""); });
  }

  absl::Status Start() { return server_.Start(); }
  uint16_t port() const { return server_.PortAt(0); }
  // Any thread; see Coordination.
  void Ended(int32_t task) {
    post_([this, task] { coordination_.Ended(task); });
  }
  void Stop(const std::string& why, absl::Duration limit) {
    post_([this, why, limit] { coordination_.Stop(why, limit); });
  }
  void End(const std::string& why) {
    post_([this, why] { coordination_.End(why); });
  }

  bool Knows(const std::string& method) const override { return CallOf(method).has_value(); }
  void Handle(agent::GrpcRequest asked, const agent::SharedCall& call) override {
    const Call kind = *CallOf(asked.method);
    absl::StatusOr<Request> request = ReadRequest(kind, asked.bytes);
    if (!request.ok()) return call->Complete(request.status());
    if (kind.method == Method::kRegister || kind.method == Method::kShutdown) {
      request->timeout_ms = LeftToAnswer(asked.time_left);
    }
    const auto held = std::make_shared<HeldRequest>([kind, call](const absl::StatusOr<Reply>& reply) {
      if (reply.ok()) return call->Complete(WriteReply(kind, *reply));
      call->Complete(reply.status(), PayloadsOf(reply.status()));
    });
    call->WhenGivenUp([held] { held->Complete(absl::CancelledError("the caller has disconnected")); });
    Queue(*std::move(request), held);
  }
  bool IsBusy() const override { return coordination_.IsBusy(); }
  void Turn(const std::function<void()>& steps) override {
    store_.Together(steps);
    const MonotonicTime now = clock_.Read().monotonic;
    if (now < next_tick_) return;
    coordination_.Tick();
    next_tick_ = now + kTick;
  }

 private:
  // Any thread.
  void Queue(Request request, SharedHeld held) {
    const size_t bytes = request.value.size() + request.name.size() + request.tasks.size() * sizeof(request.tasks[0]);
    if (queued_bytes_.fetch_add(bytes) + bytes > kMaxQueuedBytes) {
      queued_bytes_ -= bytes;
      return held->Complete(absl::ResourceExhaustedError(
          absl::StrCat("requests of ", kMaxQueuedBytes, " bytes wait here already: try again later")));
    }
    post_([this, bytes, request = std::move(request), held = std::move(held)]() mutable {
      queued_bytes_ -= bytes;
      coordination_.Handle(std::move(request), std::move(held));
    });
  }

  const Clock& clock_;
  JobStore& store_;
  MonotonicTime next_tick_;  // only the server's thread uses it
  std::atomic<size_t> queued_bytes_ = 0;
  agent::GrpcServer server_;
  const agent::Post post_ = server_.post();
  Coordination coordination_;  // only the server's thread uses it
};

class JaxGateway final : public agent::RoundGateway<Service> {
 public:
  JaxGateway(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  void AddTo(agent::EnvironmentInput& input) const override { input.jax_port = server()->port(); }
  void Judge(const agent::ProcessKey& key, agent::ProcessEnd& end) override {
    if (Serves(key) && key.slot < tasks_.size() && end.IsSuccess()) server()->Ended(tasks_[key.slot]);
  }
  void Stopping(const std::string& why, absl::Duration limit) override {
    if (server() != nullptr) server()->Stop(why, limit);
  }
  // Sends the processes the reason, as their last line. The server stays until they are gone, so that they get the
  // reason instead of a broken connection.
  void WhyOver(const std::string& why) override {
    if (server() != nullptr) server()->End(why);
  }

 private:
  absl::StatusOr<std::unique_ptr<Service>> ServerFor(const agent::GatewayRound& round) override {
    const absl::StatusOr<agent::RoundLayout> layout = agent::LayoutOf(round);
    if (!layout.ok()) return layout.status();
    agent::TaskLayout tasks = agent::TasksOf(*layout);
    tasks_ = tasks.agents[tasks.own];
    auto service = std::make_unique<Service>(store_, clock_, std::move(tasks), IncarnationOf(*layout));
    if (absl::Status started = service->Start(); !started.ok()) return started;
    return service;
  }
  absl::Status BeginAgain() override { return agent::NoneStartsAlone("a JAX"); }

  JobStore& store_;
  const Clock& clock_;
  std::vector<int32_t> tasks_;  // by slot
};

}  // namespace

std::unique_ptr<agent::Gateway> MakeGateway(JobStore& store, const Clock& clock) {
  return std::make_unique<JaxGateway>(store, clock);
}

}  // namespace muster::jax
