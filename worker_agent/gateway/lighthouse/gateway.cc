#include "worker_agent/gateway/lighthouse/gateway.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/chassis/grpc_server.h"
#include "worker_agent/gateway/chassis/round_gateway.h"
#include "worker_agent/gateway/lighthouse/replicas.h"

namespace muster::lighthouse {
namespace {

constexpr int kMaxRequestBytes = 2 * static_cast<int>(kMaxReplicaMemberBytes);
constexpr size_t kMaxBytesInAll = 64u << 20;  // of gRPC's buffers
// A process of a replica group has one or two connections. The rest is for a user's tools.
constexpr size_t kConnectionsOfSlot = 8;
constexpr size_t kMoreConnections = 64;
constexpr absl::Duration kTick = absl::Milliseconds(50);

constexpr char kQuorumMethod[] = "/torchft.LighthouseService/Quorum";
constexpr char kHeartbeatMethod[] = "/torchft.LighthouseService/Heartbeat";

// torchft's lighthouse in one round. A waiting call blocks no thread. Only the server's thread may use the replicas.
class Service final : public agent::GrpcService {
 public:
  // Opens a port for each slot, so that the port shows which process a call comes from. For `last_number` see Replicas.
  Service(Settings settings, uint32_t slots, SendReport send, const Clock& clock, uint64_t& last_number)
      : clock_(clock),
        send_(std::move(send)),
        replicas_(std::move(settings), last_number),
        server_({.whose = "torchft",
                 .thread = "ms-lighthouse",
                 .ports = slots,
                 .most_connections = kMoreConnections + kConnectionsOfSlot * slots,
                 .max_request_bytes = kMaxRequestBytes,
                 .most_bytes = kMaxBytesInAll,
                 .tick = kTick},
                *this, clock) {}
  // Ends the waiting calls with an error: the round is over.
  ~Service() override {
    server_.Stop([this] { replicas_.End(""); });
  }

  absl::Status Start() { return server_.Start(); }
  uint16_t PortOf(uint32_t slot) const { return server_.PortAt(slot); }
  // Any thread; see Replicas.
  void Ended(uint32_t slot) {
    post_([this, slot] { replicas_.Ended(slot); });
  }
  void End(const std::string& why) {
    post_([this, why] { replicas_.End(why); });
  }

  bool Knows(const std::string& method) const override { return method == kQuorumMethod || method == kHeartbeatMethod; }
  void Handle(agent::GrpcRequest request, const agent::SharedCall& call) override {
    call->WhenGivenUp([this, held = call.get()] {
      post_([this, held] {
        if (const auto number = calls_.find(held); number != calls_.end()) replicas_.GiveUp(number->second);
      });
    });
    post_([this, request = std::move(request), call] { HandleStep(request, call); });
  }
  bool IsBusy() const override { return replicas_.IsBusy(); }
  void Turn(const std::function<void()>& steps) override {
    steps();
    SendWhatIsDue();
  }

 private:
  void HandleStep(const agent::GrpcRequest& asked, const agent::SharedCall& call) {
    const MonotonicTime now = clock_.Read().monotonic;
    if (asked.method == kHeartbeatMethod) {
      const absl::Status taken = replicas_.Beat(asked.port, asked.bytes, now);
      return call->Complete(taken.ok() ? absl::StatusOr<std::string>("") : taken);
    }
    const absl::StatusOr<uint64_t> number = replicas_.Ask(
        asked.port, asked.bytes,
        [this, call](absl::StatusOr<std::string> reply) {
          calls_.erase(call.get());
          call->Complete(std::move(reply));
        },
        now);
    if (!number.ok()) return call->Complete(number.status());
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
  Replicas replicas_;
  std::map<const agent::HeldCall*, uint64_t> calls_;  // waiting calls of Quorum
  std::string last_problem_;
  agent::GrpcServer server_;
  const agent::Post post_ = server_.post();
};

class LighthouseGateway final : public agent::RoundGateway<Service> {
 public:
  LighthouseGateway(Settings settings, SendReport send, const Clock& clock)
      : settings_(std::move(settings)), send_(std::move(send)), clock_(clock) {}

  void AddTo(agent::EnvironmentInput& input) const override {
    const uint16_t port = server()->PortOf(input.is_one_for_node ? 0 : input.slot);
    input.gateway_variables["TORCHFT_LIGHTHOUSE"] = absl::StrCat("http://127.0.0.1:", port);
  }
  // Reports a replica's death to the other replicas at once, so that they need not wait for its heartbeat time-out.
  void Judge(const agent::ProcessKey& key, agent::ProcessEnd& /*end*/) override {
    if (Serves(key)) server()->Ended(key.slot);
  }
  void WhyOver(const std::string& why) override {
    if (server() != nullptr) server()->End(why);
  }

 private:
  absl::StatusOr<std::unique_ptr<Service>> ServerFor(const agent::GatewayRound& round) override {
    auto service = std::make_unique<Service>(settings_, static_cast<uint32_t>(round.assignment.slots_size()), send_,
                                             clock_, last_number_);
    if (absl::Status started = service->Start(); !started.ok()) return started;
    return service;
  }

  const Settings settings_;
  const SendReport send_;
  const Clock& clock_;
  uint64_t last_number_ = 0;  // only the server's thread uses it while there is a server
};

}  // namespace

std::unique_ptr<agent::Gateway> MakeGateway(Settings settings, SendReport send, const Clock& clock) {
  return std::make_unique<LighthouseGateway>(std::move(settings), std::move(send), clock);
}

}  // namespace muster::lighthouse
