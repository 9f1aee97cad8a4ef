#include "worker_agent/core/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/base/limits.h"
#include "tests/unit/agent_core/agent_harness.h"
#include "worker_agent/core/connection/reporter.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Progress, NothingIsSaidOfAProcessThatNeverWrote) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 2\n");
}

TEST(Progress, EachReportCarriesTheStepAndForHowLongItHasStood) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_EQ(agent.Made(1, 40), "");  // no report is sent just for that
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 3, progress of round 1: 1/0 step 40 still 2000ms\n");
  agent.Made(0, 41);
  agent.Pass(absl::Seconds(1));
  agent.Made(1, 41);
  EXPECT_EQ(agent.Pass(absl::Seconds(1)),
            "send 1: report 4, progress of round 1: 0/0 step 41 still 2000ms, 1/0 step 41 still 1000ms\n");
}

TEST(Progress, ATouchHasNoStep) {
  AgentHarness agent;
  agent.RunRound();
  agent.Made(0, std::nullopt);
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 2, progress of round 1: 0/0 still 2000ms\n");
}

TEST(Progress, IsForgottenWithItsProcess) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  agent.Made(0, 40);
  agent.Made(1, 41);
  EXPECT_THAT(agent.Ended(0, 1), HasSubstr("progress of round 1: 1/0 step 41 still 0ms\n"));
  EXPECT_THAT(agent.Ended(1, 1), Not(HasSubstr("progress")));
}

TEST(Progress, OfAnEarlierRoundOrAttemptDoesNotCount) {
  AgentHarness agent;
  agent.RunRound();
  agent.Made(0, 40);
  agent.Ended(0, 1);
  agent.Desire(Running(1, 2));
  agent.Peers(2);
  EXPECT_THAT(agent.Started(0, 2), Not(HasSubstr("progress")));
  agent.Made(0, 41, 1);  // of round 1: too late
  agent.Made(0, 41, 2, 7);
  agent.Made(9, 41, 2);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), Not(HasSubstr("progress")));
  agent.Made(0, 1, 2);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("progress of round 2: 0/0 step 1 still 2000ms"));
}

TEST(Progress, GoesOnWhileTheSchedulerIsAway) {
  AgentHarness agent;
  agent.RunRound();
  agent.Made(0, 40);
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  agent.Welcome(true, 1);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("progress of round 1: 0/0 step 40 still "));
}

TEST(Progress, TimeInWhichTheAgentWasStoppedIsNotHeldAgainstItsProcesses) {
  AgentHarness agent;
  agent.RunRound();
  agent.Pass(absl::Seconds(2));
  agent.Made(0, 40);
  agent.Sleep(absl::Minutes(10));  // a paused VM: the heartbeat after 2 s was missed
  EXPECT_THAT(agent.Do(Tick{}), HasSubstr("0/0 step 40 still 2000ms"));
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("0/0 step 40 still 4000ms"));
}

// A report with the largest progress and the largest events.
TEST(Progress, AReportStillFitsIntoAMessage) {
  Progress progress;
  Reporter reporter;
  MonotonicTime now;
  reporter.StreamOpened(now, absl::Seconds(2), absl::Seconds(2));
  constexpr auto kMost32 = std::numeric_limits<uint32_t>::max();
  for (uint32_t slot = 0; slot < kMaxSlotsPerNode + 7; ++slot) {
    progress.Made({kMost32 - slot, kMost32, kMost32}, std::numeric_limits<uint64_t>::max(), now);
    v1::NodeEvent event;
    event.mutable_ended()->set_error_message(std::string(kMaxErrorMessageBytes, 'e'));
    reporter.Add(event, now);
  }
  v1::AgentMessage message;
  *message.mutable_report() = reporter.MakeReport(now);
  const size_t without = message.ByteSizeLong();
  EXPECT_GT(without, kMaxSessionMessageBytes / 2) << "the events fill it";
  progress.Fill(*message.mutable_report(), now + absl::Hours(24 * 365 * 100));
  EXPECT_LE(message.ByteSizeLong(), kMaxSessionMessageBytes);
  EXPECT_EQ(message.report().progress_size(), static_cast<int>(kMaxSlotsPerNode));
  EXPECT_LE(message.ByteSizeLong() - without, kMaxSlotsPerNode * Progress::kMaxBytesPerSlot);
}

}  // namespace
}  // namespace muster::agent
