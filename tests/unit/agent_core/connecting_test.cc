#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Connecting, BeginsWithADialAndTheJoin) {
  AgentHarness agent;
  EXPECT_EQ(agent.Begin(),
            "dial 1\n"
            "send 1: join job=j node= cluster= run=0 term=0 seq=1\n");
  EXPECT_EQ(agent.Welcome(),
            "last report for n1 run 3\n"
            "say: joined job j (run 3) as node n1\n");
}

TEST(Connecting, WhatMayBeWrongIsToldOnceIfOthersDontComeSoon) {
  AgentOptions options = SmallOptions();
  options.scheduler_hint = "sched_host is localhost";
  AgentHarness agent(options);
  agent.Begin();
  agent.Welcome();
  v1::SchedulerMessage waiting;
  v1::Acknowledgement& acknowledgement = *waiting.mutable_acknowledgement();
  acknowledgement.set_heartbeat_seq(1);
  acknowledgement.mutable_waiting()->set_text("1 of 2 workers are here");
  agent.Sleep(absl::Seconds(9));
  EXPECT_THAT(agent.Receive(waiting), AllOf(HasSubstr("1 of 2"), Not(HasSubstr("localhost"))));
  agent.Sleep(absl::Seconds(2));
  EXPECT_THAT(agent.Receive(waiting), HasSubstr("sched_host is localhost"));
  EXPECT_THAT(agent.Receive(waiting), AllOf(HasSubstr("1 of 2"), Not(HasSubstr("localhost"))));
}

TEST(Connecting, PromisesItsFenceWithEachJoin) {
  AgentOptions options = SmallOptions();
  options.node.set_is_fence_guarded(true);
  AgentHarness agent(options);
  EXPECT_THAT(agent.Begin(), HasSubstr("seq=1 guarded\n"));
  agent.Welcome();
  agent.Break("x");
  EXPECT_THAT(agent.Pass(agent.core().NextDeadline() - (MonotonicTime() + agent.now())), HasSubstr("seq=2 guarded\n"));
}

TEST(Connecting, RetriesWithinBoundsAndSaysSoAtGrowingIntervals) {
  AgentOptions options = SmallOptions();
  options.retry_num = 610;
  AgentHarness agent(options);
  agent.Begin();
  EXPECT_EQ(agent.Break("Connection refused"),
            "say: waiting for the scheduler at s:8118 for up to 30m30s: Connection refused\n");
  absl::Duration last = agent.now();
  absl::Duration expected = absl::Milliseconds(100);
  std::string said;
  for (uint64_t seq = 2; seq < 60; ++seq) {
    ASSERT_THAT(agent.Pass(agent.core().NextDeadline() - (MonotonicTime() + agent.now())),
                HasSubstr("dial " + std::to_string(seq)));
    EXPECT_GE(agent.now() - last, expected * 0.7);
    EXPECT_LE(agent.now() - last, expected * 1.3);
    last = agent.now();
    expected = std::min(expected * 2, absl::Seconds(3));
    said += agent.Break("Connection refused");
  }
  // Nearly three minutes: the agent logs it after 10 s, 30 s, 1 min and 2 min.
  EXPECT_EQ(Count(said, "still waiting for the scheduler at s:8118 (MS_SCHED_HOST and MS_SCHED_PORT) after "), 4)
      << said;
  EXPECT_EQ(Count(said, " of 30m30s: Connection refused"), 4) << said;
}

TEST(Connecting, SaysANewReasonAtOnceUntilItIsLetInAFewTimes) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_THAT(agent.Break("closed"), HasSubstr("closed\n"));
  std::string said;
  for (const char* reason : {"closed", "it wants TLS", "it wants TLS", "a", "b", "c", "d"}) {
    agent.Pass(agent.core().NextDeadline() - (MonotonicTime() + agent.now()));
    if (agent.now() > absl::Seconds(9)) break;  // it is logged then in any case
    said += agent.Break(reason);
  }
  EXPECT_EQ(Count(said, "waiting for the scheduler at"), 3) << said;
  EXPECT_EQ(Count(said, ": it wants TLS"), 1) << said;
  EXPECT_EQ(Count(said, ": c"), 0) << said;
}

TEST(Connecting, JitterComesFromTheIncarnation) {
  const auto second_dial = [](uint64_t incarnation) {
    AgentOptions options = SmallOptions();
    options.incarnation = incarnation;
    AgentHarness agent(options);
    agent.Begin();
    agent.Break("x");
    return agent.core().NextDeadline();
  };
  EXPECT_EQ(second_dial(7), second_dial(7));
  EXPECT_NE(second_dial(7), second_dial(8));
}

TEST(Connecting, GivesUpWhenPatienceIsUsedUpAtTheStart) {
  AgentHarness agent;
  agent.Begin();
  std::string text = agent.Break("Connection refused");
  while (!agent.core().IsFinished() && agent.now() < absl::Minutes(5)) {
    text += agent.Pass(agent.core().NextDeadline() - (MonotonicTime() + agent.now()));
    if (!agent.core().IsFinished()) text += agent.Break("Connection refused");
  }
  EXPECT_EQ(agent.now(), absl::Seconds(60));
  EXPECT_THAT(text,
              AllOf(HasSubstr("error: could not reach the scheduler at s:8118 within 1m (Connection refused)"),
                    HasSubstr("MS_SCHED_HOST"), HasSubstr("MS_CLUSTER_RETRY_NUM (20 tries"), HasSubstr("finish 10\n")));
}

TEST(Connecting, DialsAgainAfter15SecondsWithoutAnAnswer) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_EQ(agent.Pass(absl::Milliseconds(14'999)), "");
  EXPECT_THAT(agent.Pass(absl::Seconds(1)), AllOf(HasSubstr("hang up\n"), HasSubstr("dial 2\n")));
}

TEST(Connecting, ADialThatWaitsForItsTurnIsNotGivenUp) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_EQ(agent.Pass(absl::Seconds(10)), "");
  EXPECT_THAT(agent.Do(DialWaits{1}),
              HasSubstr("say: the machine of the scheduler at s:8118 has accepted the connection"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(agent.Pass(absl::Seconds(10)), "");
    EXPECT_EQ(agent.Do(DialWaits{1}), "") << "once is enough";
  }
  EXPECT_EQ(agent.Do(DialWaits{7}), "") << "it is of no dial of ours";
  EXPECT_EQ(agent.Pass(absl::Milliseconds(14'999)), "");
  EXPECT_THAT(agent.Pass(absl::Milliseconds(1)), HasSubstr("hang up\n"));
}

TEST(Connecting, PatienceIsNotUsedUpWhileADialWaitsForItsTurn) {
  AgentHarness agent;
  agent.Begin();
  agent.Break("Connection refused");
  agent.Pass(absl::Milliseconds(200));
  ASSERT_EQ(agent.connect_seq(), 2u);
  for (int i = 0; i < 11; ++i) {
    agent.Pass(absl::Seconds(10));
    agent.Do(DialWaits{2});
  }
  EXPECT_FALSE(agent.core().IsFinished());
  EXPECT_THAT(agent.Break("its machine has accepted the connection"),
              AllOf(HasSubstr("within 1m50s (its machine has accepted the connection)"), HasSubstr("finish 10\n")));
}

TEST(Connecting, IgnoresMessagesOfAnOlderDial) {
  AgentHarness agent;
  agent.Begin();
  agent.Break("x");
  agent.Pass(absl::Milliseconds(200));
  ASSERT_EQ(agent.connect_seq(), 2u);
  v1::SchedulerMessage message;
  message.mutable_welcome()->set_run(9);
  EXPECT_EQ(agent.Do(MessageReceived{1, message}), "");
  EXPECT_EQ(agent.Do(StreamBroken{1, "late"}), "");
}

TEST(Connecting, ReconnectsQuietlyWithWhatItKnows) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_THAT(agent.Break("Socket closed"), HasSubstr("warn: lost the scheduler at s:8118 (Socket closed)"));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(200)),
              HasSubstr("send 2: join job=j node=n1 cluster=c run=3 term=1 round=1 acknowledged=1 seq=2\n"));
  EXPECT_THAT(agent.Welcome(true), AllOf(HasSubstr("say: reconnected"), Not(HasSubstr("stop"))));
}

TEST(Connecting, PatienceCountsFromTheLastMomentConnected) {
  AgentHarness agent;
  agent.AnswerReports();
  agent.RunRound();
  agent.Pass(absl::Minutes(10));
  agent.Break("Socket closed");
  std::string text;
  while (text.find("stop\n") == std::string::npos && agent.now() < absl::Minutes(20)) {
    text += agent.Pass(agent.core().NextDeadline() - (MonotonicTime() + agent.now()));
    text += agent.Break("Connection refused");
  }
  EXPECT_EQ(agent.now(), absl::Minutes(11));
  EXPECT_THAT(agent.Ended(0, 0, 15, true), AllOf(HasSubstr("out of reach for 1m"), HasSubstr("finish 14\n")));
}

TEST(Connecting, ASchedulerWithAnOldJournalEndsNoProcess) {
  AgentHarness agent;
  agent.RunRound();
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_EQ(agent.Refuse(v1::Refusal::STALE_TERM, "this scheduler is in term 3"), "hang up\n");
  EXPECT_THAT(agent.Pass(absl::Milliseconds(400)), HasSubstr("dial 3\n"));
}

TEST(Connecting, TriesLaterWhenTold) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_EQ(agent.Refuse(v1::Refusal::TRY_LATER, "draining", 5000),
            "hang up\n"
            "say: waiting for the scheduler at s:8118 for up to 1m: it asks to try again later: draining\n");
  EXPECT_EQ(agent.Pass(absl::Milliseconds(4999)), "");
  EXPECT_THAT(agent.Pass(absl::Milliseconds(1502)), HasSubstr("dial 2\n"));
}

TEST(Connecting, AStaleConnectIsRepeatedWithAHigherNumber) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_THAT(agent.Refuse(v1::Refusal::STALE_CONNECT), HasSubstr("hang up\n"));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(200)), HasSubstr("dial 2\n"));
}

TEST(Connecting, SecurityAtTheStartIsFatalLaterItIsRetried) {
  AgentHarness fresh;
  fresh.Begin();
  EXPECT_THAT(fresh.Do(StreamBroken{1, "certificate has expired", BreakReason::kSecurity}),
              AllOf(HasSubstr("error: no secure connection to the scheduler at s:8118: certificate has expired"),
                    HasSubstr("finish 15\n")));
  AgentHarness running;
  running.RunRound();
  EXPECT_THAT(running.Do(StreamBroken{1, "certificate has expired", BreakReason::kSecurity}), Not(HasSubstr("finish")));
}

TEST(Connecting, ARefusalOfTheIdentityEndsOnlyAnAgentThatWasNotWelcomed) {
  AgentHarness fresh;
  fresh.Begin();
  EXPECT_THAT(fresh.Refuse(v1::Refusal::NOT_AUTHORIZED, "the certificate is of another job"),
              AllOf(HasSubstr("error: refused by the scheduler at s:8118: the certificate is of another job"),
                    HasSubstr("finish 15\n")));

  AgentHarness running;
  running.RunRound();
  running.Break("Socket closed");
  running.Pass(absl::Milliseconds(200));
  EXPECT_THAT(running.Refuse(v1::Refusal::NOT_AUTHORIZED, "the certificate is of another job"),
              AllOf(HasSubstr("hang up\n"),
                    HasSubstr("error: the scheduler at s:8118 no longer accepts this node: the certificate is of "
                              "another job. Processes keep running"),
                    Not(HasSubstr("stop\n")), Not(HasSubstr("finish"))));
  EXPECT_THAT(running.Pass(absl::Seconds(3)), HasSubstr("dial 3\n"));
  EXPECT_THAT(running.Refuse(v1::Refusal::NOT_AUTHORIZED, "the certificate is of another job"),
              Not(HasSubstr("no longer accepts this node")))
      << "logged once";
  running.Pass(absl::Seconds(4));
  EXPECT_THAT(running.Welcome(true), AllOf(HasSubstr("reconnected"), Not(HasSubstr("stop\n"))));
}

TEST(Connecting, AnOpenStreamThatIsRefusedIsNotTheEndEither) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_THAT(agent.Refuse(v1::Refusal::NOT_AUTHORIZED, "revoked"),
              AllOf(HasSubstr("hang up\n"), HasSubstr("no longer accepts this node: revoked"), Not(HasSubstr("stop\n")),
                    Not(HasSubstr("finish"))));
}

TEST(Connecting, EndsWith15IfItIsRefusedUntilItGivesUp) {
  AgentHarness agent;
  agent.RunRound();
  agent.Break("Socket closed");
  std::string text;
  while (text.find("stop\n") == std::string::npos && agent.now() < absl::Minutes(3)) {
    text += agent.Pass(agent.core().NextDeadline() - (MonotonicTime() + agent.now()));
    text += agent.Refuse(v1::Refusal::NOT_AUTHORIZED, "revoked");
  }
  EXPECT_EQ(agent.now(), absl::Minutes(1));
  EXPECT_THAT(agent.Ended(0, 0, 15, true),
              AllOf(HasSubstr("has not accepted this node for 1m (revoked)"), HasSubstr("finish 15\n")));
}

TEST(Connecting, AnotherClusterIsJoinedAgainWhileNothingHasBegun) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Refuse(v1::Refusal::CLUSTER_CHANGED, "not mine"), Not(HasSubstr("finish")));
  EXPECT_THAT(agent.Pass(absl::Milliseconds(500)), HasSubstr("send 3: join job=j node= cluster= run=0 term=0 seq=3\n"));
}

TEST(Connecting, AnotherClusterEndsWhatHasBegun) {
  AgentHarness agent;
  agent.RunRound();
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_EQ(agent.Refuse(v1::Refusal::CLUSTER_CHANGED), "hang up\nstop\n");
  EXPECT_THAT(agent.Ended(0, 0, 15, true),
              AllOf(HasSubstr("came back without a record of this job"), HasSubstr("finish 14\n")));
}

TEST(Connecting, ALowerTermIsNotListenedTo) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome();
  v1::SchedulerMessage message;
  message.set_term(5);
  *message.mutable_desired() = Running(1);
  EXPECT_EQ(agent.Receive(message), "fetch peers of run 3 round 1\n");
  message.set_term(4);
  *message.mutable_desired() = Failed(v1::Cause::NODE_LOST);
  EXPECT_EQ(agent.Receive(message), "");
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Welcome(true), HasSubstr("hang up\n"));  // in term 1
}

TEST(Connecting, ShowsHowTheRunBeforeEnded) {
  AgentHarness agent;
  agent.Begin();
  v1::SchedulerMessage message;
  message.set_term(1);
  message.mutable_welcome()->set_cluster_id("c");
  message.mutable_welcome()->set_job_id("j");
  message.mutable_welcome()->set_run(4);
  message.mutable_welcome()->set_node_id("n1");
  message.mutable_welcome()->set_previous_run("run 3 failed: rank 1 was killed by SIGKILL");
  EXPECT_THAT(agent.Receive(message),
              HasSubstr("say: joined job j (run 4) as node n1; the previous run: run 3 failed"));
}

// The machine slept, or the agent was stopped, so it could not try.
TEST(Connecting, SleepUsesUpNoPatience) {
  AgentHarness agent;  // the agent tries for 60 s
  agent.RunRound();
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(150));
  agent.Break("Connection refused");
  agent.Sleep(absl::Minutes(10));
  EXPECT_THAT(agent.Do(Tick{}), AllOf(HasSubstr("dial 3\n"), Not(HasSubstr("giving up"))));
  agent.Break("Connection refused");
  std::string text;
  for (int i = 0; i < 30 && text.find("giving up") == std::string::npos; ++i) {
    text += agent.Pass(absl::Seconds(3));
    if (!agent.core().IsFinished()) text += agent.Break("Connection refused");
  }
  EXPECT_THAT(text, HasSubstr("giving up"));
}

}  // namespace
}  // namespace muster::agent
