#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Converging, FetchesThePeersThenStartsAllSlots) {
  AgentHarness agent(SmallOptions(2));
  agent.Begin();
  agent.Welcome();
  EXPECT_EQ(agent.Desire(InPhase(v1::RUN_PHASE_FORMING, 0)), "");
  EXPECT_EQ(agent.Desire(Running(2)), "fetch peers of run 3 round 1\n");
  EXPECT_EQ(agent.Peers(1), "say: round 1: ranks 0-1 of 2\nlaunch round 1 slots 0,1\n");
  EXPECT_EQ(agent.Desire(Running(2)), "");  // fetched once
}

TEST(Converging, RetriesThePeersWithBackOff) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(1));
  EXPECT_THAT(agent.Peers(1, absl::UnavailableError("lost")), HasSubstr("warn: the peer list of round 1"));
  EXPECT_EQ(agent.Pass(absl::Milliseconds(340)), "");
  EXPECT_THAT(agent.Pass(absl::Milliseconds(320)), HasSubstr("fetch peers of run 3 round 1\n"));
  EXPECT_EQ(agent.Peers(1, absl::UnavailableError("lost")), "");  // the same error is logged once
  EXPECT_THAT(agent.Pass(absl::Milliseconds(1310)), HasSubstr("fetch peers"));
  EXPECT_THAT(agent.Peers(1), HasSubstr("launch round 1"));
}

TEST(Converging, PeersOfAnotherRoundAreNotTaken) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(1));
  EXPECT_EQ(agent.Desire(Running(1, 2)), "fetch peers of run 3 round 2\n");
  EXPECT_EQ(agent.Peers(1), "");
  EXPECT_THAT(agent.Peers(2), HasSubstr("launch round 2"));
}

TEST(Converging, AsksForThePeersAgainAfterAReconnect) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(1));
  agent.Break("Socket closed");
  EXPECT_THAT(agent.Pass(absl::Seconds(1)), Not(HasSubstr("fetch")));
  EXPECT_THAT(agent.Welcome(true), HasSubstr("fetch peers of run 3 round 1\n"));
}

TEST(Converging, ALargeWorldStartsWithoutThePeerList) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  v1::DesiredState desired = Running(1);
  desired.mutable_assignment()->set_worker_num(1025);
  EXPECT_THAT(agent.Desire(desired), HasSubstr("launch round 1 slots 0 without peers\n"));
}

TEST(Converging, ANewRoundStopsTheOldOneFirst) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_EQ(agent.Desire(Running(2, 2)), "stop\n");
  EXPECT_THAT(agent.Ended(0, 0, 15, true), Not(HasSubstr("fetch")));
  EXPECT_THAT(agent.Ended(1, 0, 15, true), HasSubstr("fetch peers of run 3 round 2\n"));
  EXPECT_THAT(agent.Peers(2), HasSubstr("launch round 2 slots 0,1\n"));
}

TEST(Converging, RecoveringAndStoppingStopOnce) {
  for (const v1::RunPhase phase : {v1::RUN_PHASE_RECOVERING, v1::RUN_PHASE_STOPPING, v1::RUN_PHASE_FORMING}) {
    AgentHarness agent;
    agent.RunRound();
    EXPECT_THAT(agent.Desire(InPhase(phase, 1)), HasSubstr("stop\n"));
    EXPECT_EQ(agent.Desire(InPhase(phase, 1)), "");
    EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("#2 ended 0/1/0 code=0 signal=15 stopped"));
  }
}

TEST(Converging, ARoundThatIsGivenUpIsQuitOnceItsProcessesHaveEnded) {
  AgentHarness agent;
  agent.RunRound();
  v1::DesiredState recovering = InPhase(v1::RUN_PHASE_RECOVERING, 1);
  recovering.set_reason("rank 3 died");
  EXPECT_EQ(agent.Desire(recovering), "say: round 1 is given up; rank 3 died\nstop\n");
  EXPECT_EQ(agent.Ended(0, 0, 15, true),
            "send 1: report 2, #2 ended 0/1/0 code=0 signal=15 stopped, #3 quit round 1\n");
  agent.Acknowledge(3);
  EXPECT_EQ(agent.Desire(recovering), "");
  agent.Desire(Running(1, 2));
  EXPECT_THAT(agent.Peers(2), HasSubstr("launch round 2"));
}

v1::DesiredState CheckAfter(uint32_t round) {
  v1::DesiredState order = InPhase(v1::RUN_PHASE_RECOVERING, round);
  order.set_check_node(true);
  return order;
}

class NodeCheckTest : public ::testing::Test {
 protected:
  NodeCheckTest() {
    agent_.RunRound();
    agent_.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1));
    agent_.Ended(0, 3);
    agent_.Acknowledge(3);
  }

  AgentHarness agent_;
};

TEST_F(NodeCheckTest, PassesAndTheNextRoundBegins) {
  EXPECT_EQ(agent_.Desire(CheckAfter(1)), "check node\n");
  EXPECT_EQ(agent_.Desire(CheckAfter(1)), "") << "it runs already";
  EXPECT_THAT(agent_.Do(NodeChecked{}), HasSubstr("#4 checked after round 1"));
  agent_.Desire(Running(1, 2));
  EXPECT_THAT(agent_.Peers(2), HasSubstr("launch round 2"));
}

TEST_F(NodeCheckTest, NothingStartsWhileItRuns) {
  agent_.Desire(CheckAfter(1));
  EXPECT_EQ(agent_.Desire(Running(1, 2)), "") << "a scheduler that was restarted may have forgotten the check";
  const std::string passed = agent_.Do(NodeChecked{});
  EXPECT_THAT(passed, HasSubstr("fetch peers of run 3 round 2"));
  EXPECT_THAT(agent_.Peers(2), HasSubstr("launch round 2"));
}

TEST_F(NodeCheckTest, ASchedulerThatAsksAgainGetsTheAnswerAgain) {
  agent_.Desire(CheckAfter(1));
  agent_.Do(NodeChecked{});
  agent_.Acknowledge(4);
  EXPECT_THAT(agent_.Desire(CheckAfter(1)), HasSubstr("#5 checked after round 1"));
}

TEST_F(NodeCheckTest, FailsAndTheNodeLeaves) {
  agent_.Desire(CheckAfter(1));
  const std::string end = agent_.Do(NodeChecked{absl::FailedPreconditionError("the node check ended with code 1")});
  EXPECT_THAT(end, HasSubstr("error: this node leaves the job: the node check ended with code 1"));
  EXPECT_THAT(end, HasSubstr("leaving signal=0 (the node check ended with code 1)"));
  EXPECT_THAT(agent_.Acknowledge(4), HasSubstr("finish 11"));
}

TEST_F(NodeCheckTest, AnAgentThatEndsMeanwhileIgnoresTheAnswer) {
  agent_.Desire(CheckAfter(1));
  agent_.Signal(15);
  EXPECT_THAT(agent_.Do(NodeChecked{absl::FailedPreconditionError("code 1")}), Not(HasSubstr("leaves the job")));
}

TEST(Converging, NoNodeIsCheckedWhileProcessesAreLeft) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_THAT(agent.Desire(CheckAfter(1)), Not(HasSubstr("check node")));
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("check node"));
}

// The scheduler's journal may have been replaced by an older copy, which lacks events that the scheduler had
// acknowledged.
TEST(Converging, AnOlderJournalIsNotFollowedAndHearsAgainThatTheRoundWasQuit) {
  AgentHarness agent;
  agent.RunRound();
  agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1));
  agent.Ended(0, 0, 15, true);
  agent.Acknowledge(3);
  agent.Desire(Running(1, 2));
  agent.Peers(2);
  agent.Started(0, 2);
  agent.Acknowledge(4);
  agent.Break("Socket closed");
  EXPECT_THAT(agent.Pass(absl::Milliseconds(200)), HasSubstr("round=2 acknowledged=4"));
  agent.Welcome(true, 1);
  for (const v1::RunPhase phase : {v1::RUN_PHASE_RUNNING, v1::RUN_PHASE_RECOVERING}) {
    EXPECT_EQ(agent.Desire(InPhase(phase, 1)), "") << "its processes run on";
  }
  EXPECT_THAT(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 2)), HasSubstr("stop\n"));
  EXPECT_THAT(agent.Ended(0, 0, 15, true, 2), HasSubstr("#6 quit round 2"));
  agent.Acknowledge(6);
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Welcome(true, 4), HasSubstr("#7 quit round 2"));
}

// The order to stop does not wait for the journal and may overtake the order to start.
TEST(Converging, ARoundThatWasGivenUpDoesNotBeginAnyMore) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  EXPECT_THAT(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1)), HasSubstr("#1 quit round 1"));
  EXPECT_EQ(agent.Desire(Running(1, 1)), "");
}

TEST(Converging, RunsAgainOnlyWhenTheStoppedOnesAreGone) {
  AgentHarness agent;
  agent.RunRound();
  agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1));
  EXPECT_EQ(agent.Desire(Running(1, 2)), "");
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("fetch peers of run 3 round 2\n"));
}

TEST(Converging, ARestartOfOneSlotIsANewAttempt) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  agent.Ended(1, 7);
  v1::DesiredState desired = Running(2);
  desired.mutable_assignment()->mutable_slots(1)->set_attempt(1);
  EXPECT_EQ(agent.Desire(desired), "say: round 1: rank 1 of 2\nlaunch round 1 slots 1\n");
}

TEST(Converging, ASlotThatIsDoneIsNotStarted) {
  AgentHarness agent(SmallOptions(2));
  agent.Begin();
  agent.Welcome();
  v1::DesiredState desired = Running(2);
  desired.mutable_assignment()->mutable_slots(0)->set_should_run(false);
  agent.Desire(desired);
  EXPECT_THAT(agent.Peers(1), HasSubstr("launch round 1 slots 1\n"));
}

TEST(Converging, ASpareWaitsAndANodeWithoutRanksStops) {
  AgentHarness spare;
  spare.Begin();
  spare.Welcome();
  EXPECT_EQ(spare.Desire(InPhase(v1::RUN_PHASE_RUNNING, 1)), "");
  AgentHarness replaced;
  replaced.RunRound();
  EXPECT_EQ(replaced.Desire(InPhase(v1::RUN_PHASE_RUNNING, 2)), "stop\n");
}

TEST(Converging, OlderRoundsAndOtherRunsAreIgnored) {
  AgentHarness agent;
  agent.RunRound();
  v1::DesiredState other = InPhase(v1::RUN_PHASE_STOPPING, 1);
  other.set_run(2);
  EXPECT_EQ(agent.Desire(other), "");
  other.set_run(4);
  EXPECT_EQ(agent.Desire(other), "");
  EXPECT_EQ(agent.Desire(InPhase(v1::RUN_PHASE_FORMING, 0)), "");
}

TEST(Converging, WithoutACommandTheAssignmentIsPrintedOnceAndTheSlotsAreDone) {
  AgentOptions options = SmallOptions(2);
  options.has_command = false;
  AgentHarness agent(options);
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(2));
  EXPECT_EQ(agent.Peers(1),
            "print round 1\n"
            "send 1: report 1, #1 ended 0/1/0 code=0 signal=0, #2 ended 1/1/0 code=0 signal=0\n");
  EXPECT_EQ(agent.Acknowledge(2), "");
  EXPECT_EQ(agent.Desire(Running(2)), "");
  EXPECT_THAT(agent.Desire(Succeeded()), HasSubstr("finish 0\n"));
}

// Orders two processes. The keeper has the order to start both, and has not answered yet.
void LaunchTwo(AgentHarness& agent) {
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(2));
  agent.Peers(1);
}

TEST(Converging, AFailedLaunchIsReportedForEachSlot) {
  AgentHarness agent(SmallOptions(2));
  LaunchTwo(agent);
  const std::string text = agent.Do(LaunchFailed{1, {0, 1}, "no space"});
  EXPECT_THAT(text, HasSubstr("error: the processes could not be started: no space\n"));
  EXPECT_THAT(text, HasSubstr("#1 ended 0/1/0 code=126 signal=0 launch_error=no space"));
  EXPECT_THAT(text, HasSubstr("#2 ended 1/1/0 code=126 signal=0 launch_error=no space"));
  EXPECT_THAT(agent.Acknowledge(2), Not(HasSubstr("report")));
  EXPECT_THAT(agent.Desire(Failed(v1::Cause::LAUNCH_FAILED)), HasSubstr("finish 126\n"));
}

TEST(Converging, AFailedLaunchSaysNothingOfOtherLaunchesOfTheRound) {
  AgentHarness agent(SmallOptions(2));
  LaunchTwo(agent);
  const std::string text = agent.Do(LaunchFailed{1, {1}, "no space"});
  EXPECT_THAT(text, HasSubstr("ended 1/1/0 code=126"));
  EXPECT_THAT(text, Not(HasSubstr("ended 0/1/0")));
}

// One process hangs in a driver: the keeper answers, but has no end to report.
TEST(Converging, KillsWhatTheKeeperShouldHaveKilledAndNamesWhatCannotBe) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_EQ(agent.Desire(InPhase(v1::RUN_PHASE_STOPPING, 1)), "stop\n");
  agent.Ended(0, 0, 15, true);
  EXPECT_THAT(agent.Pass(absl::Milliseconds(14'999)), Not(HasSubstr("kill")));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(2)), HasSubstr("kill\n"));
  const std::string text = agent.Pass(absl::Seconds(5));
  EXPECT_THAT(text, HasSubstr("error: rank 1's process 101 can't be killed"));
  EXPECT_THAT(text, HasSubstr("`ms-ctl fence n1`"));
  EXPECT_THAT(text, HasSubstr("finish 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("keeper")));
  EXPECT_TRUE(agent.core().IsFinished());
}

TEST(Converging, AnAgentThatMustEndNamesWhatCannotBeKilledToo) {
  AgentHarness agent;
  agent.RunRound();
  agent.Signal(15);
  agent.Pass(absl::Seconds(15));
  const std::string text = agent.Pass(absl::Seconds(6));
  EXPECT_THAT(text, HasSubstr("error: rank 0's process"));
  EXPECT_THAT(text, HasSubstr("finish 143\n"));
}

// A newer scheduler may send phases that this agent doesn't know. The agent must not stop anything or forget its orders
// for that.
TEST(Converging, AnOrderOfAnUnknownKindChangesNothing) {
  AgentHarness agent;
  agent.RunRound();
  for (const int phase : {0, 7, 99, -1}) {
    EXPECT_EQ(agent.Desire(InPhase(static_cast<v1::RunPhase>(phase), 1)), "") << phase;
    EXPECT_EQ(agent.Desire(InPhase(static_cast<v1::RunPhase>(phase), 2)), "") << phase;
  }
  EXPECT_THAT(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1)), HasSubstr("stop\n"));
}

TEST(Converging, AMessageOfAnUnknownKindChangesNothing) {
  AgentHarness agent;
  agent.RunRound();
  v1::SchedulerMessage message;
  ASSERT_TRUE(message.ParseFromString("\x08\x01\xfa\x3f\x02hi"));  // term 1, and field 1023
  EXPECT_EQ(agent.Receive(message), "");
}

}  // namespace
}  // namespace muster::agent
