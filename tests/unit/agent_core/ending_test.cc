#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Ending, SuccessIsSettledWhenAllIsAcknowledged) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Ended(0, 0), "send 1: report 2, #2 ended 0/1/0 code=0 signal=0\n");
  EXPECT_EQ(agent.Desire(Succeeded()), "");
  EXPECT_EQ(agent.Acknowledge(2),
            "send 1: report 3, settled\n"
            "say: job j (run 3) succeeded\n"
            "hang up\n"
            "finish 0\n");
  EXPECT_TRUE(agent.core().IsFinished());
  EXPECT_TRUE(agent.core().NextDeadline().is_never());
  EXPECT_EQ(agent.Pass(absl::Minutes(1)), "");
  EXPECT_EQ(agent.Signal(15), "");
}

TEST(Ending, DoesNotWaitForAcknowledgementsForEver) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 0);
  agent.Desire(Succeeded());
  EXPECT_THAT(agent.Pass(absl::Milliseconds(2999)), Not(HasSubstr("finish")));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(1)), HasSubstr("finish 0\n"));
}

TEST(Ending, ABrokenStreamEndsTheWaitForAcknowledgements) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 0);
  agent.Desire(Succeeded());
  EXPECT_THAT(agent.Break("Socket closed"), HasSubstr("finish 0\n"));
}

TEST(Ending, AFailureElsewhereStopsAndNamesTheCauseLast) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Desire(InPhase(v1::RUN_PHASE_STOPPING, 1)), "stop\n");
  v1::DesiredState failed = Failed(v1::Cause::PROCESS_SIGNALED);
  failed.mutable_outcome()->mutable_cause()->set_rank(5);
  failed.mutable_outcome()->mutable_cause()->add_last_lines("Traceback");
  failed.mutable_outcome()->mutable_cause()->set_log_file("/l/worker_5.log");
  failed.mutable_outcome()->mutable_cause()->set_host_name("gpu1");
  EXPECT_EQ(agent.Desire(failed), "");
  agent.Ended(0, 0, 15, true);
  EXPECT_EQ(agent.Acknowledge(2),
            "send 1: report 3, settled\n"
            "error: last output of rank 5:\n"
            "error:   | Traceback\n"
            "error: all of its output: /l/worker_5.log on gpu1\n"
            "error: job j (run 3) failed: the cause; the remedy\n"
            "hang up\n"
            "finish 13\n");
}

TEST(Ending, WhatTheUserHasSeenIsNotShownAgain) {
  for (const bool is_ours : {true, false}) {
    AgentOptions options = SmallOptions();
    options.shown_ranks = {{0, 7}};
    AgentHarness agent(options);
    agent.RunRound();
    v1::DesiredState failed = Failed(v1::Cause::PROCESS_EXITED);
    failed.mutable_outcome()->mutable_cause()->set_node_id(is_ours ? "n1" : "another");
    failed.mutable_outcome()->mutable_cause()->add_last_lines("Traceback");
    agent.Desire(failed);
    agent.Ended(0, 0, 15, true);
    const std::string said = agent.Acknowledge(2);
    EXPECT_EQ(said.find("Traceback") == std::string::npos, is_ours) << said;
    EXPECT_THAT(said, HasSubstr("error: job j (run 3) failed: the cause; the remedy\n"));
  }
}

struct ExitCodeCase {
  const char* name;
  v1::Cause::Kind kind;
  int own_code;
  int own_signal;
  bool was_stopped;
  int expected;
};

class ExitCodes : public ::testing::TestWithParam<ExitCodeCase> {};

TEST_P(ExitCodes, AreThoseOfTheTable) {
  const ExitCodeCase& c = GetParam();
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, c.own_code, c.own_signal, c.was_stopped);
  agent.Acknowledge(2);
  EXPECT_THAT(agent.Desire(Failed(c.kind)), HasSubstr("finish " + std::to_string(c.expected) + "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Ending, ExitCodes,
    ::testing::Values(ExitCodeCase{"OwnCode", v1::Cause::PROCESS_EXITED, 7, 0, false, 7},
                      ExitCodeCase{"OwnSignal", v1::Cause::PROCESS_SIGNALED, 0, 9, false, 137},
                      ExitCodeCase{"StoppedByUs", v1::Cause::PROCESS_SIGNALED, 0, 15, true, 13},
                      ExitCodeCase{"EndedWell", v1::Cause::NODE_LOST, 0, 0, false, 13},
                      ExitCodeCase{"NeverFormed", v1::Cause::NEVER_FORMED, 0, 0, false, 12},
                      ExitCodeCase{"SchedulerStopped", v1::Cause::SCHEDULER_STOPPED, 0, 15, true, 14},
                      ExitCodeCase{"StoppedByUser", v1::Cause::STOPPED_BY_USER, 0, 15, true, 17},
                      ExitCodeCase{"StoppedByUserAfterAFailure", v1::Cause::STOPPED_BY_USER, 7, 0, false, 17}),
    [](const auto& case_info) { return case_info.param.name; });

TEST(Ending, AFailureThatWasRecoveredFromDoesNotCount) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 7);
  agent.Desire(Running(1, 2));
  agent.Peers(2);
  agent.Ended(0, 0, 15, true, 2);
  agent.Acknowledge(3);
  EXPECT_THAT(agent.Desire(Failed(v1::Cause::NODE_LOST, 2)), HasSubstr("finish 13\n"));
}

TEST(Ending, TheFirstFailureDecides) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  agent.Ended(1, 5);
  agent.Ended(0, 6);
  agent.Acknowledge(4);
  EXPECT_THAT(agent.Desire(Failed(v1::Cause::PROCESS_EXITED)), HasSubstr("finish 5\n"));
}

// ---------------------------------------------------------------------------------------- the scheduler of our own

OwnSchedulerLost Killed(bool has_whole_job = true) { return {"was killed by SIGKILL (pid 12)", has_whole_job}; }

TEST(OwnScheduler, ItsLossStopsTheProcessesAndEndsAtOnce) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Do(Killed()), "") << "what it said last may still come";
  const std::string lost = agent.Break("Socket closed");
  EXPECT_THAT(lost,
              AllOf(HasSubstr("the ms-scheduler that this agent started was killed by SIGKILL (pid 12): stopping"),
                    HasSubstr("stop\n"), Not(HasSubstr("trying to reach it"))));
  EXPECT_THAT(agent.Ended(0, 0, 15, true),
              AllOf(HasSubstr("was killed by SIGKILL (pid 12), and its record of the job is lost"),
                    HasSubstr("--journal_path FILE"), HasSubstr("finish 14\n")));
}

TEST(OwnScheduler, ItsLossIsTakenAlsoAfterTheStreamsEnd) {
  AgentHarness agent;
  agent.RunRound();
  agent.Break("Socket closed");
  EXPECT_THAT(agent.Do(Killed()), HasSubstr("stop\n"));
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("finish 14\n"));
}

TEST(OwnScheduler, TheProcessesOwnResultCounts) {
  for (const bool has_whole_job : {true, false}) {
    AgentHarness well;
    well.RunRound();
    well.Ended(0, 0);
    well.Do(Killed(has_whole_job));
    EXPECT_THAT(well.Break("Socket closed"), HasSubstr(has_whole_job ? "finish 0\n" : "finish 14\n"));
    AgentHarness failed;
    failed.RunRound();
    failed.Ended(0, 7);
    failed.Do(Killed(has_whole_job));
    EXPECT_THAT(failed.Break("Socket closed"), HasSubstr("finish 7\n"));
  }
}

TEST(OwnScheduler, WhatWasStoppedWasNotDone) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 0, 0, true);  // the process saved its state and ended with 0
  agent.Do(Killed());
  EXPECT_THAT(agent.Break("Socket closed"), HasSubstr("finish 14\n"));
}

TEST(OwnScheduler, AnOutcomeThatCameBeforeCounts) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 0);
  agent.Do(Killed());
  agent.Desire(Succeeded());
  EXPECT_THAT(agent.Break("Socket closed"), AllOf(HasSubstr("succeeded"), HasSubstr("finish 0\n")));
}

TEST(OwnScheduler, WithoutAWelcomeItWasNeverReached) {
  AgentHarness agent;
  agent.Begin();
  agent.Do(Killed());
  EXPECT_THAT(agent.Break("Connection reset"), HasSubstr("finish 10\n"));
}

// ------------------------------------------------------------------------------------------------------- refusals

struct RefusalCase {
  v1::Refusal::Reason reason;
  int expected;
};

class Refusals : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, EndAFreshAgentAtOnce) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_EQ(agent.Refuse(GetParam().reason, "that won't do"),
            "hang up\nerror: refused by the scheduler at s:8118: that won't do\nfinish " +
                std::to_string(GetParam().expected) + "\n");
}

TEST_P(Refusals, EndTheProcessesOfARunningOneFirst) {
  AgentHarness agent;
  agent.RunRound();
  const bool may_others_have_its_ranks =
      GetParam().reason == v1::Refusal::NODE_LOST || GetParam().reason == v1::Refusal::STALE_INCARNATION;
  EXPECT_EQ(agent.Refuse(GetParam().reason), may_others_have_its_ranks ? "kill\nhang up\n" : "hang up\nstop\n");
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("finish " + std::to_string(GetParam().expected) + "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Ending, Refusals,
    ::testing::Values(RefusalCase{v1::Refusal::EXTRA_NODE, 11}, RefusalCase{v1::Refusal::NODE_ID_IN_USE, 11},
                      RefusalCase{v1::Refusal::NODE_ID_INVALID, 11}, RefusalCase{v1::Refusal::SETTINGS_DIFFER, 11},
                      RefusalCase{v1::Refusal::MALFORMED, 11}, RefusalCase{v1::Refusal::RUN_UNKNOWN, 11},
                      RefusalCase{v1::Refusal::STALE_INCARNATION, 11}, RefusalCase{v1::Refusal::NODE_LOST, 13}),
    [](const auto& case_info) { return v1::Refusal::Reason_Name(case_info.param.reason); });

v1::SchedulerMessage LostWithFreeRanks() {
  v1::SchedulerMessage message;
  message.mutable_refusal()->set_reason(v1::Refusal::NODE_LOST);
  message.mutable_refusal()->set_text("silent");
  message.mutable_refusal()->set_ranks_are_free(true);
  return message;
}

TEST(Ending, ALostNodeWhoseRanksAreFreeStopsItsProcessesInTheirTime) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Receive(LostWithFreeRanks()), "hang up\nstop\n");
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("finish 13\n"));
}

TEST(Ending, ALostNodeThatIsStoppingItsProcessesKillsThem) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_THAT(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1)), HasSubstr("stop\n"));
  EXPECT_EQ(agent.Refuse(v1::Refusal::NODE_LOST), "kill\nhang up\n");
}

TEST(Ending, WhatCantBeKilledForANewOwnerIsNamed) {
  AgentHarness agent;
  agent.RunRound();
  agent.Refuse(v1::Refusal::STALE_INCARNATION);
  EXPECT_THAT(agent.Pass(absl::Seconds(20)), AllOf(HasSubstr("can't be killed"), HasSubstr("finish 11\n")));
}

// A newer scheduler may send reasons that this agent doesn't know: that must not harm its processes.
class UnknownRefusals : public ::testing::TestWithParam<int> {};

TEST_P(UnknownRefusals, LeaveProcessesAloneAndTheAgentRetrying) {
  AgentHarness agent;
  agent.RunRound();
  const auto reason = static_cast<v1::Refusal::Reason>(GetParam());
  EXPECT_THAT(agent.Refuse(reason, "the moon is full"),
              AllOf(HasSubstr("hang up\n"), HasSubstr("lost the scheduler at s:8118 (the moon is full)"),
                    Not(HasSubstr("stop\n")), Not(HasSubstr("kill\n")), Not(HasSubstr("finish"))));
  EXPECT_THAT(agent.Pass(absl::Seconds(1)), HasSubstr("dial 2\n"));
  EXPECT_THAT(agent.Welcome(true, 1), HasSubstr("reconnected"));
}

TEST_P(UnknownRefusals, LeaveAFreshAgentRetryingUnderItsKeptId) {
  AgentOptions options = SmallOptions();
  options.kept_node_id = "h-1";
  AgentHarness agent(options);
  agent.Begin();
  EXPECT_THAT(agent.Refuse(static_cast<v1::Refusal::Reason>(GetParam()), ""),
              HasSubstr("refused for a reason that this version doesn't know (" + std::to_string(GetParam()) + ")"));
  EXPECT_THAT(agent.Pass(absl::Seconds(1)), HasSubstr("node=h-1"));
}

INSTANTIATE_TEST_SUITE_P(Ending, UnknownRefusals, ::testing::Values(0, 15, 99, -1),
                         [](const auto& case_info) { return absl::StrCat("Number", case_info.index); });

TEST(Ending, AForgottenRunWhoseProcessesEndedWellIsASuccess) {
  AgentHarness agent;
  agent.RunRound();
  agent.Ended(0, 0);
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Refuse(v1::Refusal::RUN_UNKNOWN), HasSubstr("finish 0\n"));
}

// Draining was requested, so nothing else counts, no matter what happened before.
TEST(Ending, ADrainedNodeEndsWithOneLine) {
  AgentHarness agent;
  agent.RunRound();
  agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1));
  agent.Ended(0, 1);
  EXPECT_EQ(agent.Refuse(v1::Refusal::DRAINED, "drained by root: a disk is to be replaced"),
            "hang up\nsay: drained by root: a disk is to be replaced\nfinish 17\n");
}

TEST(Ending, ADrainedNodeWhoseProcessesStillRunStopsThemFirst) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Refuse(v1::Refusal::DRAINED, "drained"), "hang up\nstop\n");
  EXPECT_EQ(agent.Ended(0, 0, 15, true), "say: drained\nfinish 17\n");
}

TEST(Ending, ANodeThatTheSchedulerDrainedLeavesWithoutAnError) {
  AgentHarness agent;
  agent.Begin();
  v1::SchedulerMessage message;
  message.mutable_refusal()->set_reason(v1::Refusal::DRAINED);
  message.mutable_refusal()->set_text("drained by the scheduler: a device is broken");
  message.mutable_refusal()->set_by_scheduler(true);
  EXPECT_EQ(agent.Receive(message), "hang up\nsay: drained by the scheduler: a device is broken\nfinish 0\n")
      << "the job goes on without it, and 17 would end all of it in Kubernetes";
}

TEST(Ending, AJoinMayBeAnsweredThatItsNodeIsDrained) {
  AgentOptions options = SmallOptions();
  options.kept_node_id = "h-1";  // with a new id the scheduler would let it in again
  AgentHarness agent(options);
  agent.Begin();
  EXPECT_EQ(agent.Refuse(v1::Refusal::DRAINED, ""),
            "hang up\nsay: this node was drained: it has left the job\nfinish 17\n");
}

TEST(Ending, ADrainedNodeThatWasToldToEndKeepsTheSignalsCode) {
  AgentHarness agent;
  agent.RunRound();
  agent.Signal(15);
  agent.Refuse(v1::Refusal::DRAINED, "drained");
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("finish 143\n"));
}

// -------------------------------------------------------------------------------------------------------- signals

TEST(Ending, ASignalBeforeTheWelcomeEndsAtOnce) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_EQ(agent.Signal(2), "say: got SIGINT before the job had begun: ending\nhang up\nfinish 130\n");
}

TEST(Ending, ASignalStopsThenLeavesThenEnds) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_EQ(agent.Signal(15),
            "say: got SIGTERM: stopping the processes\nstop\n"
            "send 1: report 2, #2 leaving soon signal=15 (it got SIGTERM)\n");
  EXPECT_EQ(agent.Acknowledge(2), "");
  EXPECT_EQ(agent.Ended(0, 0, 15, true),
            "send 1: report 3, #3 ended 0/1/0 code=0 signal=15 stopped, "
            "#4 leaving signal=15 (it got SIGTERM)\n");
  EXPECT_EQ(agent.Acknowledge(4), "hang up\nfinish 143\n");
}

TEST(Ending, LeavingIsNotAcknowledgedForEver) {
  AgentHarness agent;
  agent.RunRound();
  agent.Signal(15);
  agent.Ended(0, 0, 15, true);
  EXPECT_THAT(agent.Pass(absl::Milliseconds(1999)), Not(HasSubstr("finish")));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(1)), HasSubstr("finish 143\n"));
}

TEST(Ending, CtrlCGoesOnToTheProcesses) {
  AgentOptions options = SmallOptions();
  options.passes_interrupt = true;
  options.stop_timeout = absl::Seconds(30);
  AgentHarness agent(options);
  agent.RunRound();
  EXPECT_THAT(
      agent.Signal(2),
      HasSubstr("say: got SIGINT: interrupting the processes; those that go on get SIGTERM in 10s, and SIGKILL in "
                "30s or with the next signal\ninterrupt, stop after 10s\n"));
  EXPECT_EQ(agent.Signal(2), "warn: got SIGINT again: killing the processes\nkill\n");
}

TEST(Ending, OnlySigintOfItsOwnUserIsAnInterrupt) {
  AgentOptions options = SmallOptions();
  options.passes_interrupt = true;
  AgentHarness by_sigterm(options);
  by_sigterm.RunRound();
  EXPECT_THAT(by_sigterm.Signal(15), HasSubstr("say: got SIGTERM: stopping the processes\nstop\n"));
  AgentHarness failed_elsewhere(options);
  failed_elsewhere.RunRound();
  EXPECT_THAT(failed_elsewhere.Desire(Failed(v1::Cause::NODE_LEFT)), HasSubstr("stop\n"));
  EXPECT_THAT(failed_elsewhere.Signal(2), HasSubstr("say: got SIGINT: stopping the processes\n"))
      << "they have had stop_signal";
  AgentHarness without(SmallOptions());
  without.RunRound();
  EXPECT_THAT(without.Signal(2), HasSubstr("say: got SIGINT: stopping the processes\nstop\n")) << "--stop_signal";
}

TEST(Ending, TheSecondSignalKills) {
  AgentHarness agent;
  agent.RunRound();
  agent.Signal(2);
  EXPECT_EQ(agent.Signal(2), "warn: got SIGINT again: killing the processes\nkill\n");
  agent.Ended(0, 0, 9, true);
  agent.Break("Socket closed");
  EXPECT_TRUE(agent.core().IsFinished());
}

TEST(Ending, AWaitingAgentLeavesOnASignal) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  EXPECT_THAT(agent.Signal(1),
              AllOf(HasSubstr("say: got SIGHUP: leaving the job\n"), HasSubstr("#1 leaving signal=1")));
  EXPECT_THAT(agent.Acknowledge(1), HasSubstr("finish 129\n"));
}

TEST(Ending, TheOutcomeWhileLeavingKeepsTheSignalsCode) {
  AgentHarness agent;
  agent.RunRound();
  agent.Signal(15);
  agent.Desire(Failed(v1::Cause::NODE_LEFT));
  agent.Ended(0, 0, 15, true);
  EXPECT_THAT(agent.Acknowledge(3),
              AllOf(HasSubstr("settled\n"), HasSubstr("failed: the cause"), HasSubstr("finish 143\n")));
}

TEST(Ending, LeavingWithoutASchedulerIsNotHeldUp) {
  AgentHarness agent;
  agent.RunRound();
  agent.Break("Socket closed");
  agent.Signal(15);
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("finish 143\n"));
}

TEST(Ending, PatienceUsedUpWhileLeavingDoesNotSpin) {
  AgentOptions options = SmallOptions();
  options.stop_timeout = absl::Minutes(5);
  AgentHarness agent(options);
  agent.RunRound();
  agent.Break("Socket closed");
  agent.Signal(15);
  for (int i = 0; i < 100 && agent.now() < absl::Minutes(2); ++i) {
    EXPECT_THAT(agent.Pass(absl::Seconds(2)), Not(HasSubstr("does not move")));
    agent.Break("Connection refused");
  }
  EXPECT_THAT(agent.Ended(0, 0, 15, true), HasSubstr("finish 143\n"));
}

// --------------------------------------------------------------------------------------------- death of the keeper

TEST(Ending, WithoutTheKeeperAllProcessesAreReportedAndTheOutcomeIsAwaited) {
  AgentHarness agent(SmallOptions(2));
  agent.RunRound(2);
  EXPECT_THAT(agent.Do(KeeperDied{}),
              AllOf(HasSubstr("error: the keeper process was killed"), HasSubstr("#3 ended 0/1/0 code=0 signal=9"),
                    HasSubstr("#4 ended 1/1/0 code=0 signal=9")));
  agent.Acknowledge(4);
  EXPECT_EQ(agent.Desire(InPhase(v1::RUN_PHASE_STOPPING, 1)), "");
  EXPECT_THAT(agent.Desire(Failed(v1::Cause::PROCESS_SIGNALED)), HasSubstr("finish 137\n"));
}

TEST(Ending, WithoutTheKeeperWhatHadNotStartedYetWasNotKilled) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  agent.Desire(Running(1));
  agent.Peers(1);
  EXPECT_THAT(agent.Do(KeeperDied{}), HasSubstr("code=126 signal=0 launch_error=the keeper process was killed"));
}

TEST(Ending, WithoutTheKeeperANewRoundIsNotTaken) {
  AgentHarness agent;
  agent.RunRound();
  agent.Do(KeeperDied{});
  agent.Acknowledge(2);
  EXPECT_THAT(agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1)), HasSubstr("#3 leaving signal=9"));
  EXPECT_THAT(agent.Acknowledge(3), HasSubstr("finish 137\n"));
}

TEST(Ending, WithoutTheKeeperAWaitingAgentLeaves) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  EXPECT_THAT(agent.Do(KeeperDied{}), HasSubstr("#1 leaving signal=9"));
  EXPECT_THAT(agent.Acknowledge(1), HasSubstr("finish 137\n"));
}

}  // namespace
}  // namespace muster::agent
