#include "scheduler/core/facts/cause.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_join.h"
#include "tests/unit/scheduler_core/reported_output.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

v1::ProcessEnded Ended(int exit_code, int signal, const std::string& error = "", const std::string& launch = "") {
  v1::ProcessEnded ended;
  ended.set_exit_code(exit_code);
  ended.set_signal(signal);
  ended.set_error_message(error);
  ended.set_launch_error(launch);
  return ended;
}

v1::ProcessEnded WithOutput(v1::ProcessEnded ended, const std::vector<std::string>& lines) {
  if (!lines.empty()) ReportOutput(absl::StrJoin(lines, "\n"), '\n', ended);
  return ended;
}

class CauseTest : public testing::Test {
 protected:
  CauseTest() : run_(RunOf(4)), node_(AddNode(run_, {.id = "b", .slots = 2, .host = "gpu7", .address = "10.0.0.7"})) {
    for (uint32_t i = 0; i < 2; ++i) Edit(node_).slots[i] = {.phase = SlotState::Phase::kRunning, .rank = 2 + i};
  }
  CauseCandidate Process(const v1::ProcessEnded& ended, double died) {
    return CandidateFrom(run_, node_, 3, ended, At(died));
  }
  CauseCandidate NodeGone(v1::Cause::Kind kind, const std::string& reason, int signal, double died) {
    return CandidateFrom(node_, kind, reason, signal, At(died));
  }

  scheduler::Run run_;
  Node& node_;
};

TEST_F(CauseTest, SaysWhatAPersonCanRead) {
  v1::ProcessEnded dumped = Ended(0, 11);
  dumped.set_core_dumped(true);
  const std::vector<std::pair<CauseCandidate, std::string>> table = {
      {Process(Ended(0, 9), 0), "rank 3 on gpu7 (node b) was killed by SIGKILL"},
      {Process(dumped, 0), "rank 3 on gpu7 (node b) was killed by SIGSEGV (core dumped)"},
      {Process(Ended(7, 0), 0), "rank 3 on gpu7 (node b) ended with exit code 7"},
      {Process(Ended(1, 0, "ValueError: no\nTraceback"), 0),
       "rank 3 on gpu7 (node b) ended with exit code 1: ValueError: no"},
      {Process(WithOutput(Ended(1, 0), {"  File \"train.py\", line 7, in <module>", "KeyError: 'lr'"}), 0),
       "rank 3 on gpu7 (node b) ended with exit code 1: KeyError: 'lr'"},
      {Process(Ended(127, 0, "", "no such file"), 0), "rank 3 on gpu7 (node b) could not be started: no such file"},
      {NodeGone(v1::Cause::NODE_LOST, "silent", 0, 0), "node b (gpu7, 10.0.0.7) with ranks 2-3 is lost: silent"},
      {NodeGone(v1::Cause::NODE_LEFT, "it received SIGTERM", 15, 0),
       "node b (gpu7, 10.0.0.7) with ranks 2-3 left: it received SIGTERM"},
  };
  for (const auto& [candidate, text] : table) EXPECT_EQ(candidate.cause.text(), text);
}

TEST_F(CauseTest, ServersAreCalledServers) {
  Edit(node_).info.set_role(v1::ROLE_SERVER);
  EXPECT_EQ(Process(Ended(7, 0), 0).cause.text(), "server rank 3 on gpu7 (node b) ended with exit code 7");
}

TEST_F(CauseTest, CarriesTheFacts) {
  v1::ProcessEnded ended = Ended(7, 0);
  ended.add_last_lines("loss 0.1");
  ended.set_log_file("/l");
  const v1::Cause cause = Process(ended, 3).cause;
  EXPECT_EQ(cause.kind(), v1::Cause::PROCESS_EXITED);
  EXPECT_EQ(cause.rank(), 3u);
  EXPECT_EQ(cause.node_id(), "b");
  EXPECT_EQ(cause.host_name(), "gpu7");
  EXPECT_EQ(cause.exit_code(), 7);
  ASSERT_EQ(cause.last_lines_size(), 1);
  EXPECT_EQ(cause.last_lines(0), "loss 0.1");
  EXPECT_EQ(cause.log_file(), "/l");
  EXPECT_EQ(cause.reason(), "");
  EXPECT_EQ(Process(Ended(0, 9), 3).cause.reason(), "killed_from_outside");
}

// Each cause outranks all that follow it in the list, no matter how much earlier those processes died.
TEST_F(CauseTest, OrderOfCauses) {
  const std::vector<CauseCandidate> ladder = {
      Decision(v1::Cause::STOPPED_BY_USER, "stopped", "", At(9)),
      Process(Ended(0, 9), 8),
      Process(Ended(1, 0, "error"), 7),
      Process(Ended(1, 0), 6),
      Process(Ended(1, 0, "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.8]:6859"),
              4),
      NodeGone(v1::Cause::NODE_LEFT, "ended", 0, 5),
  };
  for (size_t i = 0; i < ladder.size(); ++i) {
    std::vector<CauseCandidate> rest(ladder.begin() + static_cast<long>(i), ladder.end());
    std::mt19937 random(static_cast<unsigned>(i));
    std::shuffle(rest.begin(), rest.end(), random);
    EXPECT_EQ(ChooseCause(rest).cause.text(), ladder[i].cause.text());
  }
}

TEST_F(CauseTest, LostNodesAndSignalsOfAgentsAreEqualToSignals) {
  const CauseCandidate killed = Process(Ended(0, 9), 2);
  const CauseCandidate lost = NodeGone(v1::Cause::NODE_LOST, "silent", 0, 1);
  const CauseCandidate left = NodeGone(v1::Cause::NODE_LEFT, "it received SIGTERM", 15, 3);
  EXPECT_EQ(ChooseCause({killed, lost, left}).cause.kind(), v1::Cause::NODE_LOST);
  EXPECT_EQ(ChooseCause({left, killed}).cause.kind(), v1::Cause::PROCESS_SIGNALED);
  EXPECT_EQ(ChooseCause({Process(Ended(1, 0), 0), left}).cause.kind(), v1::Cause::NODE_LEFT);
}

TEST_F(CauseTest, TiesGoToTheEarliestDeathThenToTheFirstReport) {
  EXPECT_EQ(ChooseCause({Process(Ended(1, 0), 5), Process(Ended(2, 0), 4)}).cause.exit_code(), 2);
  EXPECT_EQ(ChooseCause({Process(Ended(1, 0), 5), Process(Ended(2, 0), 5)}).cause.exit_code(), 1);
}

TEST(SignalName, KnownAndUnknown) {
  EXPECT_EQ(SignalName(9), "SIGKILL");
  EXPECT_EQ(SignalName(15), "SIGTERM");
  EXPECT_EQ(SignalName(42), "signal 42");
  EXPECT_EQ(SignalName(0), "signal 0");
}

}  // namespace
}  // namespace muster::scheduler
