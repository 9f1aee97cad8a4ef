// Calls of torchft's processes to their agents, from two jobs that share a lighthouse, while calls are given up,
// processes end, answers of the scheduler are lost and it starts again. Each call gets at most one answer; the quorum's
// number never falls.
//
// The input is a list of steps: one byte (the kind, and which agent), then the step's data.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "tests/fuzz/input.h"
#include "worker_agent/gateway/lighthouse/messages.pb.h"
#include "worker_agent/gateway/lighthouse/replicas.h"

namespace muster {
namespace {

using lighthouse::Replicas;

constexpr int kMaxSteps = 200;
constexpr size_t kAgents = 2;
enum What : uint8_t { kBeat, kAsk, kGiveUp, kEnded, kTime, kLose, kRestart, kWhats };

class World {
 public:
  World() { StartScheduler(); }

  void Step(FuzzInput& input) {
    const uint8_t byte = input.Byte();
    Agent& agent = agents_[byte % kAgents];
    switch (byte / kAgents % kWhats) {
      case kBeat:
        (void)agent.replicas.Beat(input.Byte() % 3, input.Text(), now_);
        break;
      case kAsk:
        Ask(agent, input);
        break;
      case kGiveUp:
        agent.replicas.GiveUp(input.Byte());
        break;
      case kEnded:
        agent.replicas.Ended(input.Byte() % 3);
        break;
      case kTime:
        now_ = now_ + absl::Milliseconds(input.U16());
        break;
      case kLose:
        agent.loses = true;
        break;
      case kRestart:
        StartScheduler();
        break;
    }
    Settle();
  }

  void End() {
    for (Agent& agent : agents_) {
      agent.replicas.End("over");
      MUSTER_CHECK(agent.waiting == 0, "each call is answered by the end of its round");
    }
  }

 private:
  struct Agent {
    uint64_t last_number = 0;
    Replicas replicas{lighthouse::Settings{.name = "train", .min_replicas = 1}, last_number};
    size_t waiting = 0;
    bool loses = false;  // whether the next answer is lost
  };

  void Ask(Agent& agent, FuzzInput& input) {
    const auto answered = std::make_shared<bool>(false);
    const uint32_t slot = input.Byte() % 3;
    ++agent.waiting;
    const auto call = agent.replicas.Ask(
        slot, input.Text(),
        [&agent, answered](const absl::StatusOr<std::string>& reply) {
          MUSTER_CHECK(!*answered, "a call is answered once");
          *answered = true;
          --agent.waiting;
          lighthouse::QuorumReply quorum;
          if (!reply.ok()) return;
          MUSTER_CHECK(quorum.ParseFromString(*reply), "it is a quorum");
          MUSTER_CHECK(quorum.quorum().quorum_id() > 0, "it has a number");
        },
        now_);
    if (!call.ok()) --agent.waiting;
  }

  void StartScheduler() {
    core_ = std::make_unique<scheduler::Core>(scheduler::CoreOptions(), "cluster");
    for (const v1::Record& record : journal_) core_->Recover(record);
    queries_.clear();
    Take(core_->Start(Time()));
    for (size_t i = 0; i < kAgents; ++i) Join(i);
  }

  Now Time() const { return {now_, {}}; }

  void Join(size_t i) {
    scheduler::JoinRequested event;
    event.stream = ++last_id_;
    event.peer_address = "10.0.0.1";
    v1::Join& join = event.join;
    join.set_protocol_version(kProtocolVersion);
    join.set_job_id("job" + std::to_string(i));
    join.set_node_id("n");
    join.set_incarnation(1);
    join.set_connect_seq(last_id_);
    join.mutable_settings()->set_worker_num(1);
    join.mutable_node()->set_role(v1::ROLE_WORKER);
    join.mutable_node()->set_machine_id("m");
    join.mutable_node()->add_slots();
    Take(core_->Apply(event, Time()));
  }

  // Lets all agents report at one point in time until none has anything left to report.
  void Settle() {
    Take(core_->Apply(scheduler::Tick(), Time()));
    for (int turn = 0; turn < 20; ++turn) {
      for (size_t i = 0; i < kAgents; ++i) {
        auto report = agents_[i].replicas.NextReport(now_);
        if (!report) continue;
        v1::StoreCaller& caller = *report->mutable_caller();
        caller.set_job_id("job" + std::to_string(i));
        caller.set_run(1);
        caller.set_round(1);
        caller.set_node_id("n");
        caller.set_incarnation(1);
        const scheduler::QueryId query = ++last_id_;
        queries_[query] = {i, report->number()};
        Take(core_->Apply(scheduler::StoreRequested{query, *report, ""}, Time()));
      }
    }
    for (Agent& agent : agents_) MUSTER_CHECK(!agent.replicas.NextReport(now_), "they come to rest");
    core_->CheckInvariants();
  }

  void Take(scheduler::Effects effects) {
    for (const scheduler::Effect& effect : effects) {
      if (const auto* persist = std::get_if<scheduler::Persist>(&effect)) {
        journal_.push_back(persist->record);
        if (!persist->record.has_quorum_changed()) continue;
        MUSTER_CHECK(persist->record.quorum_changed().quorum_id() == ++number_, "the number rises by one");
      }
      const auto* answer = std::get_if<scheduler::Answer>(&effect);
      const auto asked = answer == nullptr ? queries_.end() : queries_.find(answer->query);
      if (asked == queries_.end()) continue;
      const auto [i, report] = asked->second;
      queries_.erase(asked);
      absl::StatusOr<v1::StoreReply> reply = std::get<v1::StoreReply>(answer->reply);
      if (!answer->status.ok()) reply = answer->status;
      if (std::exchange(agents_[i].loses, false)) reply = absl::UnavailableError("lost");
      (void)agents_[i].replicas.Replied(report, std::move(reply), now_);
    }
  }

  MonotonicTime now_ = MonotonicTime::FromNanoseconds(1'000'000'000'000);
  std::unique_ptr<scheduler::Core> core_;
  std::vector<v1::Record> journal_;
  Agent agents_[kAgents];
  std::map<scheduler::QueryId, std::pair<size_t, uint64_t>> queries_;
  uint64_t last_id_ = 0;
  int64_t number_ = 0;
};

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::FuzzInput input(data, size);
  muster::World world;
  for (int step = 0; step < muster::kMaxSteps && !input.IsAtEnd(); ++step) world.Step(input);
  world.End();
  return 0;
}
