// The loop between a real keeper and a scheduler with real gRPC, through two rounds of a run.
#include "worker_agent/runtime/agent_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "tests/unit/session/fake_scheduler.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::SchedulerMessage Desired(v1::RunPhase phase, uint32_t round) {
  v1::SchedulerMessage message;
  message.set_term(1);
  v1::DesiredState& desired = *message.mutable_desired();
  desired.set_run(3);
  desired.set_phase(phase);
  desired.set_round(round);
  if (phase == v1::RUN_PHASE_RUNNING) {
    desired.mutable_assignment()->set_worker_num(kMaxRanksInClusterFile + 1);  // the agent fetches no peer list
    desired.mutable_assignment()->set_machine_num(1);
    desired.mutable_assignment()->set_role(v1::ROLE_WORKER);
    desired.mutable_assignment()->add_slots()->set_should_run(true);
  }
  if (phase == v1::RUN_PHASE_FAILED) desired.mutable_outcome()->mutable_cause()->set_text("the cause");
  return message;
}

// Gives up round 1 as soon as its process runs, and lets the run fail as soon as round 2's process runs.
class TwoRounds {
 public:
  bool gives_up_first = false;  // gives the first round up before its process runs
  bool is_planned = false;      // the first round ends by a planned stop
  bool is_over = false;         // the run ends before its first round
  std::set<uint32_t> started;   // rounds with a process that has run
  using Stream = grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>;

  bool Answer(const v1::AgentMessage& message, Stream& stream) {
    v1::SchedulerMessage answer;
    answer.set_term(1);
    if (message.has_join()) {
      v1::Welcome& welcome = *answer.mutable_welcome();
      welcome.set_cluster_id("c");
      welcome.set_job_id("j");
      welcome.set_run(3);
      welcome.set_node_id("n1");
      welcome.set_heartbeat_interval_ms(2000);
      return stream.Write(answer) &&
             stream.Write(is_over ? Desired(v1::RUN_PHASE_FAILED, 0) : Desired(v1::RUN_PHASE_RUNNING, 1));
    }
    if (gives_up_first && message.has_report() && !std::exchange(has_given_up_, true)) {
      stream.Write(Desired(v1::RUN_PHASE_RECOVERING, 1));
    }
    for (const v1::NodeEvent& event : message.report().events()) {
      if (event.number() <= through_) continue;
      through_ = event.number();
      if (event.has_started()) started.insert(event.started().round());
      if (event.has_started() && event.started().round() == 1) {
        v1::SchedulerMessage over = Desired(v1::RUN_PHASE_RECOVERING, 1);
        over.mutable_desired()->set_is_planned_stop(is_planned);
        stream.Write(over);
      }
      if (event.has_quit()) stream.Write(Desired(v1::RUN_PHASE_RUNNING, 2));
      if (event.has_started() && event.started().round() == 2) stream.Write(Desired(v1::RUN_PHASE_FAILED, 2));
    }
    answer.mutable_acknowledgement()->set_heartbeat_seq(message.report().heartbeat_seq());
    answer.mutable_acknowledgement()->set_events_through(through_);
    return stream.Write(answer);
  }

 private:
  uint64_t through_ = 0;
  bool has_given_up_ = false;
};

class AgentLoopTest : public ::testing::Test, public Gateway {
 protected:
  AgentLoopTest() {
    char folder[] = "/tmp/muster-agent-loop-test-XXXXXX";
    folder_ = mkdtemp(folder);
    launching_.work_folder = folder_;
    launching_.own_address = "127.0.0.1";
    launching_.environment = {{"PATH", "/bin:/usr/bin"}};
    // (The agent replaces "{round}".)
    launching_.settings.command = {"sh", "-c", absl::StrCat("echo $$ > ", folder_, "/{round}; exec sleep 1000")};
    launching_.node.add_slots();
  }
  ~AgentLoopTest() override { std::filesystem::remove_all(folder_); }

  absl::Status Begin(const GatewayRound& round) override {
    trace_.push_back(absl::StrCat("round ", round.round, " of run ", round.run, " for ", round.node_id,
                                  std::filesystem::exists(absl::StrCat(folder_, "/", round.round)) ? ", too late" : "",
                                  round.round > 1 && IsRunning(round.round - 1) ? ", too early" : "", ", ",
                                  StoreState()));
    wake_ = round.wake;
    round_ = round.round;
    return absl::OkStatus();
  }
  std::optional<absl::Status> WhenBegun() override {
    if (round_ <= never_ready_until_) return std::nullopt;
    if (!is_late_ || std::exchange(was_asked_, true)) return absl::OkStatus();
    waker_ = std::thread(wake_);
    return std::nullopt;
  }
  void AddTo(EnvironmentInput& /*input*/) const override {}
  void Stopping(const std::string& /*why*/, absl::Duration limit) override {
    trace_.push_back(absl::StrCat("stopping within ", absl::FormatDuration(limit), ", ", StoreState()));
  }
  void WhyOver(const std::string& why) override { trace_.push_back(absl::StrCat("because ", why, ", ", StoreState())); }
  void Over(uint64_t run, uint32_t round) override {
    trace_.push_back(absl::StrCat("round ", round, " of run ", run, " is over, ", StoreState()));
  }

  // Returns "no store" if the store refuses at once.
  std::string StoreState() {
    const auto code = std::make_shared<std::atomic<int>>(-1);
    loop_->store().Get("key", [code](const auto& value) { *code = static_cast<int>(value.status().code()); });
    return *code == static_cast<int>(absl::StatusCode::kFailedPrecondition) ? "no store" : "store";
  }

  // Runs with the gateway, until the run is over.
  void Run(bool gives_up_first) {
    Signals signals;
    auto keeper = Keeper::Spawn({});  // before gRPC has threads
    ASSERT_TRUE(keeper.ok()) << keeper.status();
    TwoRounds rounds;
    rounds.gives_up_first = gives_up_first;
    rounds.is_planned = is_planned_;
    rounds.is_over = is_over_;
    FakeScheduler scheduler("127.0.0.1", [&](const v1::AgentMessage& message, TwoRounds::Stream& stream) {
      return rounds.Answer(message, stream);
    });
    Launcher launcher(launching_);
    AgentLoopOptions options;
    options.agent.job_id = "j";
    options.agent.incarnation = 42;
    options.agent.retry_num = 20;
    options.agent.has_command = true;
    options.agent.node.add_slots();
    options.session.host = "127.0.0.1";
    options.session.port = scheduler.port();
    options.session.job_id = "j";
    options.program = "/bin/true";
    options.work_folder = folder_;
    options.logs.base = log_dir_;
    AgentLoop loop(options, *std::move(keeper), launcher, signals, {}, Clock::Boot());
    loop_ = &loop;
    launcher.AddGateway(*this, true, "");
    EXPECT_EQ(StoreState(), "no store") << "before the first round";
    EXPECT_EQ(loop.Run(), kExitFailedElsewhere);
    if (waker_.joinable()) waker_.join();
    started_ = rounds.started;
  }

  bool IsRunning(uint32_t round) const {
    pid_t pid = 0;
    std::ifstream(absl::StrCat(folder_, "/", round)) >> pid;
    return pid > 0 && kill(pid, 0) == 0;
  }

  std::string folder_;
  LauncherOptions launching_;
  std::vector<std::string> trace_;
  std::set<uint32_t> started_;
  AgentLoop* loop_ = nullptr;
  bool is_planned_ = false;
  bool is_over_ = false;
  std::string log_dir_;
  bool is_late_ = false;
  bool was_asked_ = false;
  uint32_t never_ready_until_ = 0;  // up to this round the gateway is never ready
  uint32_t round_ = 0;
  std::function<void()> wake_;
  std::thread waker_;
};

TEST_F(AgentLoopTest, ReportsEachRoundBeforeItsFirstProcessAndItsEnd) {
  Run(false);
  EXPECT_THAT(trace_, ElementsAre("round 1 of run 3 for n1, store", "because the round was given up, store",
                                  "round 1 of run 3 is over, no store", "round 2 of run 3 for n1, store",
                                  "because the cause, store", "round 2 of run 3 is over, no store"));
  EXPECT_FALSE(IsRunning(2));
}

TEST_F(AgentLoopTest, APlannedStopLeavesTheStoreOpenUntilTheNextRound) {
  is_planned_ = true;
  Run(false);
  EXPECT_THAT(trace_, ElementsAre("round 1 of run 3 for n1, store", "stopping within 30s, store",
                                  "because the round was given up, store", "round 1 of run 3 is over, no store",
                                  "round 2 of run 3 for n1, store", "because the cause, store",
                                  "round 2 of run 3 is over, no store"));
}

TEST_F(AgentLoopTest, WaitsForAGateway) {
  is_late_ = true;
  Run(false);
  EXPECT_TRUE(was_asked_);
  EXPECT_THAT(started_, ElementsAre(1, 2));
}

TEST_F(AgentLoopTest, ARoundThatIsGivenUpWaitsForNoGateway) {
  never_ready_until_ = 1;
  Run(true);
  EXPECT_THAT(started_, ElementsAre(2));
}

TEST_F(AgentLoopTest, TheLastLineIsTheReason) {
  is_over_ = true;
  log_dir_ = folder_;
  const std::string file = folder_ + "/log";
  ASSERT_TRUE(InitLogging({"ms-worker", "text", "info", file}).ok());
  Run(false);
  ASSERT_TRUE(InitLogging({"ms-worker", "text", "info", ""}).ok());
  const std::string said = *ReadSmallFile(file, 10'000);
  EXPECT_TRUE(absl::EndsWith(said, "the cause\n")) << said;
  EXPECT_THAT(said, Not(HasSubstr("logs are in"))) << "nothing has run";
}

}  // namespace
}  // namespace muster::agent
