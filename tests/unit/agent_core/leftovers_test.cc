// A process has died, and one of its descendants can't be killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Slot 0 starts again within the round.
v1::DesiredState NextAttempt() {
  v1::DesiredState desired = Running(2);
  desired.mutable_assignment()->mutable_slots(0)->set_attempt(1);
  return desired;
}

TEST(Leftovers, AFailureIsReportedAtOnceAndTheNextAttemptWaits) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_EQ(agent.Died(0, 3), "send 1: report 3, #3 ended 0/1/0 code=3 signal=0\n");
  EXPECT_EQ(agent.Desire(NextAttempt()), "");
  EXPECT_THAT(agent.Pass(absl::Seconds(19)), AllOf(Not(HasSubstr("launch")), Not(HasSubstr("finish"))));
  EXPECT_EQ(agent.Cleared(0), "say: round 1: rank 0 of 2\nlaunch round 1 slots 0\n");
}

// Otherwise the job would stand still as long as the device hangs.
TEST(Leftovers, AnAttemptThatWaitsTooLongEndsTheAgent) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  agent.Died(0, 3);
  agent.Desire(NextAttempt());
  agent.Stuck(0);
  EXPECT_THAT(agent.Pass(absl::Seconds(21)), HasSubstr("hang up\nstop\n"));
  EXPECT_THAT(agent.Ended(1, 0, 15, true), AllOf(HasSubstr("can't be killed"), HasSubstr("finish 1")));
}

TEST(Leftovers, WhatIsClearedTwiceOrNeverWasThereChangesNothing) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_EQ(agent.Cleared(0), "");
  EXPECT_EQ(agent.Desire(NextAttempt()), "") << "its first process runs";
  agent.Died(0, 3);
  EXPECT_THAT(agent.Cleared(0), HasSubstr("launch"));
  EXPECT_EQ(agent.Cleared(0), "");
  EXPECT_EQ(agent.Stuck(0), "") << "of an attempt before";
}

TEST(Leftovers, TheRoundIsQuitWhenNothingIsLeft) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  agent.Died(0, 3);
  EXPECT_EQ(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1)), "say: round 1 is given up; \nstop\n");
  EXPECT_THAT(agent.Ended(1, 0, 15, true), AllOf(HasSubstr("ended 1/1/0"), Not(HasSubstr("quit"))));
  EXPECT_THAT(agent.Cleared(0), HasSubstr("#5 quit round 1"));
}

TEST(Leftovers, ARoundThatIsPlannedToStopIsQuitWhenNothingIsLeft) {
  AgentHarness agent;
  agent.RunRound();
  v1::DesiredState stopping = InPhase(v1::RUN_PHASE_STOPPING, 1);
  stopping.set_is_planned_stop(true);
  EXPECT_EQ(agent.Desire(stopping), "stop\n");
  EXPECT_THAT(agent.Died(0, 0, 15, true), AllOf(HasSubstr("stopped"), Not(HasSubstr("quit"))));
  EXPECT_THAT(agent.Cleared(0), HasSubstr("quit round 1"));
}

TEST(Leftovers, TheNextRoundWaits) {
  AgentHarness agent;
  agent.RunRound();
  agent.Died(0, 3);
  agent.Desire(Running(1, 2));
  EXPECT_THAT(agent.Peers(2), Not(HasSubstr("launch")));
  agent.Cleared(0);
  EXPECT_THAT(agent.Peers(2), HasSubstr("launch round 2 slots 0"));
}

// When all processes of a node have ended with 0, the scheduler may start their ranks elsewhere. So the agent reports
// such an end only when no descendant is left.
TEST(Leftovers, AGoodEndIsReportedWhenNothingIsLeft) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Died(0, 0), "");
  EXPECT_EQ(agent.Cleared(0), "send 1: report 2, #2 ended 0/1/0 code=0 signal=0\n");
}

TEST(Leftovers, AGoodEndIsReportedWithItsRemainsOnceTheyAreStuck) {
  AgentHarness agent;
  agent.RunRound();
  agent.Died(0, 0);
  EXPECT_THAT(agent.Stuck(0),
              HasSubstr("#2 ended 0/1/0 code=0 signal=0 with remains, stuck 0 700 (python3 D) 5000ms\n"));
  EXPECT_EQ(agent.Cleared(0), "");
}

TEST(Leftovers, WhatIsStuckIsNamedHereAndInEachReport) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams();
  agent.Desire(Running(1));
  agent.Peers(1);
  agent.Started(0);
  agent.Acknowledge(1);
  agent.Died(0, 3);
  agent.Acknowledge(2);
  EXPECT_EQ(
      agent.Stuck(0),
      "error: process 700 (python3, state D) of rank 0 can't be killed: it is still there 5s after SIGKILL, because "
      "it hangs in the kernel (see dmesg; often a driver or a file system) or is traced; nothing starts in its place "
      "until it is gone\n");
  EXPECT_EQ(agent.Stuck(0), "") << "another state of it";
  agent.AnswerReports();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(agent.Pass(absl::Seconds(2)), AllOf(HasSubstr("stuck 0 700 (python3 D)"), Not(HasSubstr("datagram"))));
  }
  agent.Cleared(0);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), AllOf(HasSubstr("report"), Not(HasSubstr("stuck"))))
      << "so that it is known";
}

TEST(Leftovers, AnAgentWhoseJobHasEndedNamesThemAndEnds) {
  AgentHarness agent;
  agent.RunRound();
  agent.Died(0, 3);
  agent.Acknowledge(2);
  EXPECT_EQ(agent.Desire(Failed(v1::Cause::PROCESS_EXITED)), "stop\n");
  EXPECT_THAT(agent.Pass(absl::Seconds(4)), Not(HasSubstr("finish")));
  const std::string text = agent.Stuck(0);
  EXPECT_THAT(text, HasSubstr("error: process 700 (python3, state D) of rank 0 can't be killed"));
  EXPECT_THAT(text, HasSubstr("the cause; the remedy\nhang up\nfinish 3\n")) << "the cause comes last";
  EXPECT_THAT(text, Not(HasSubstr("settled"))) << "the scheduler takes that for the end of all processes";
}

TEST(Leftovers, ASignalledAgentNamesThemAndEndsWithoutSayingThatNothingIsLeft) {
  AgentHarness agent;
  agent.RunRound();
  agent.Signal(15);
  agent.Died(0, 0, 15, true);
  EXPECT_THAT(agent.Stuck(0),
              AllOf(HasSubstr("can't be killed"), Not(HasSubstr("leaving")), HasSubstr("finish 143\n")));
}

TEST(Leftovers, AJobThatRecoversWaitsForThemForSomeTime) {
  AgentHarness agent;
  agent.RunRound();
  agent.Died(0, 3);
  agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1));
  EXPECT_THAT(agent.Stuck(0), AllOf(HasSubstr("can't be killed"), Not(HasSubstr("finish"))));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(19'900)), Not(HasSubstr("finish")));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(200)),
              AllOf(HasSubstr("process 700 (python3, state D) of rank 0"), HasSubstr("finish 1\n")));
}

TEST(Leftovers, OfALostKeeperHoldUpNoReportButTheLeaving) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_THAT(agent.Do(KeeperDied{true}),
              AllOf(HasSubstr("#3 ended 0/1/0 code=0 signal=9"), HasSubstr("#4 ended 1/1/0 code=0 signal=9")));
  EXPECT_THAT(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1)),
              AllOf(HasSubstr("leaving soon"), Not(HasSubstr("quit"))));
  EXPECT_THAT(agent.Do(KeeperDied{}), HasSubstr("#6 leaving signal=9"));
}

}  // namespace
}  // namespace muster::agent
