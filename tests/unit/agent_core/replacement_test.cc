// An agent shows a renewed certificate over a second stream, which then replaces the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kSpan = absl::Seconds(10);  // five heartbeats

v1::SchedulerMessage WelcomeMessage(uint64_t events_through = 0, const std::string& cluster_id = "c") {
  v1::SchedulerMessage message;
  message.set_term(1);
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_cluster_id(cluster_id);
  welcome.set_job_id("j");
  welcome.set_run(3);
  welcome.set_node_id("n1");
  welcome.set_events_through(events_through);
  welcome.set_heartbeat_interval_ms(2000);
  welcome.set_is_resumed(true);
  return message;
}

v1::SchedulerMessage RefusalMessage(v1::Refusal::Reason reason, const std::string& text) {
  v1::SchedulerMessage message;
  message.mutable_refusal()->set_reason(reason);
  message.mutable_refusal()->set_text(text);
  return message;
}

// Runs a round on stream 1 while stream 2 is being dialled to replace it.
class Replacement : public ::testing::Test {
 protected:
  Replacement() { agent_.AnswerReports(); }
  void Begin() {
    agent_.RunRound();
    agent_.Do(TlsChanged{true});
    ASSERT_THAT(agent_.Pass(kSpan), AllOf(HasSubstr("dial 2 as a replacement\n"),
                                          HasSubstr("send 2: join job=j node=n1 cluster=c run=3 term=1 "
                                                    "round=1 acknowledged=1 seq=2\n")));
  }
  // Lets the time of the dial run out, with heartbeats on stream 1.
  std::string PassDial() { return agent_.Pass(absl::Seconds(15)); }

  AgentHarness agent_;
};

TEST_F(Replacement, TheOpenStreamStaysUntilTheOtherIsWelcomed) {
  agent_.RunRound();
  EXPECT_EQ(agent_.Do(TlsChanged{true}), "last report for n1 run 3\n");
  const std::string text = agent_.Pass(kSpan);
  EXPECT_THAT(text,
              AllOf(HasSubstr("dial 2 as a replacement\n"), HasSubstr("send 1: report"), Not(HasSubstr("hang up"))));
  EXPECT_THAT(agent_.Pass(absl::Seconds(4)), HasSubstr("send 1: report")) << "heartbeats go on meanwhile";
  EXPECT_EQ(agent_.Do(MessageReceived{2, WelcomeMessage(1)}),
            "hang up 1\n"
            "last report for n1 run 3\n"
            "say: the connection to the scheduler now shows the renewed certificate\n");
  EXPECT_THAT(agent_.Pass(absl::Seconds(4)), AllOf(HasSubstr("send 2: report"), Not(HasSubstr("send 1:"))));
  EXPECT_EQ(agent_.Do(StreamBroken{1, "late"}), "");
}

TEST_F(Replacement, ComesAtATimeOfItsOwn) {
  const auto dialed_at = [](uint64_t incarnation) {
    AgentOptions options = SmallOptions();
    options.incarnation = incarnation;
    AgentHarness agent(options);
    agent.Begin();
    agent.Welcome();
    const absl::Duration began = agent.now();
    agent.Do(TlsChanged{true});
    while (agent.connect_seq() == 1 && agent.now() - began <= kSpan) agent.Pass(absl::Milliseconds(100));
    return agent.now() - began;
  };
  absl::Duration first = absl::InfiniteDuration(), last;
  for (uint64_t incarnation = 1; incarnation <= 50; ++incarnation) {
    const absl::Duration at = dialed_at(incarnation);
    EXPECT_LE(at, kSpan);
    first = std::min(first, at);
    last = std::max(last, at);
  }
  EXPECT_LT(first, kSpan * 0.2);
  EXPECT_GT(last, kSpan * 0.8);
}

TEST_F(Replacement, AChangeOfTrustOnlyIsForTheLastReport) {
  agent_.RunRound();
  EXPECT_EQ(agent_.Do(TlsChanged{false}), "last report for n1 run 3\n");
  EXPECT_THAT(agent_.Pass(2 * kSpan), Not(HasSubstr("dial")));
}

// The scheduler ends the old stream when it accepts the new one; the agent may learn of that end first.
TEST_F(Replacement, TheOldStreamMayEndBeforeTheWelcomeIsHeard) {
  Begin();
  EXPECT_EQ(agent_.Do(StreamBroken{1, "the scheduler ended the connection"}), "");
  EXPECT_THAT(agent_.Do(MessageReceived{2, WelcomeMessage(1)}),
              AllOf(HasSubstr("shows the renewed certificate"), Not(HasSubstr("dial"))));
  EXPECT_THAT(agent_.Do(StreamBroken{2, "the network broke"}), HasSubstr("lost the scheduler"));
  EXPECT_THAT(agent_.Pass(absl::Milliseconds(200)), HasSubstr("dial 3\n"));
  EXPECT_THAT(agent_.Do(MessageReceived{3, WelcomeMessage(1)}), HasSubstr("reconnected")) << "another matter";
}

TEST_F(Replacement, SomebodyElseMayHaveTakenThePlace) {
  Begin();
  EXPECT_EQ(agent_.Do(StreamBroken{1, "the scheduler ended the connection"}), "");
  EXPECT_EQ(agent_.Do(MessageReceived{2, RefusalMessage(v1::Refusal::STALE_INCARNATION, "a newer start")}),
            "kill\nhang up\n");
  EXPECT_THAT(agent_.Ended(0, 0, 15, true), AllOf(HasSubstr("a newer start"), HasSubstr("finish 11\n")));
}

TEST_F(Replacement, BothMayBreak) {
  Begin();
  EXPECT_EQ(agent_.Do(StreamBroken{1, "Socket closed"}), "");
  EXPECT_THAT(agent_.Do(StreamBroken{2, "Connection refused"}),
              HasSubstr("lost the scheduler at s:8118 (Connection refused)"));
  EXPECT_THAT(agent_.Pass(absl::Milliseconds(200)), HasSubstr("dial 3\n"));
}

TEST_F(Replacement, ThatFailsLeavesTheOpenStreamAlone) {
  Begin();
  EXPECT_THAT(agent_.Do(StreamBroken{2, "it is not trusted", BreakReason::kSecurity}),
              AllOf(HasSubstr("warn: no connection with the renewed certificate to the scheduler at s:8118 yet (it is "
                              "not trusted)"),
                    Not(HasSubstr("finish"))));
  EXPECT_THAT(agent_.Pass(absl::Seconds(4)),
              AllOf(HasSubstr("send 1: report"), HasSubstr("dial 3 as a replacement\n")));
  EXPECT_THAT(agent_.Do(MessageReceived{3, RefusalMessage(v1::Refusal::NOT_AUTHORIZED, "another name")}),
              AllOf(HasSubstr("hang up 3\n"), HasSubstr("(another name)"), Not(HasSubstr("stop"))));
  // Each try comes later than the one before; the reason is logged once.
  EXPECT_THAT(agent_.Pass(absl::Seconds(5.9)), Not(HasSubstr("dial")));
  EXPECT_THAT(agent_.Pass(absl::Seconds(2.1)), HasSubstr("dial 4 as a replacement\n"));
  EXPECT_THAT(agent_.Do(MessageReceived{4, RefusalMessage(v1::Refusal::NOT_AUTHORIZED, "another name")}),
              Not(HasSubstr("warn")));
  EXPECT_THAT(agent_.Pass(absl::Seconds(16)), HasSubstr("dial 5 as a replacement\n"));
  EXPECT_THAT(agent_.Do(MessageReceived{5, WelcomeMessage(1)}), HasSubstr("hang up 1\n"));
}

TEST_F(Replacement, ThatGetsNoAnswerIsGivenUp) {
  Begin();
  std::string text = PassDial();
  EXPECT_THAT(text,
              AllOf(HasSubstr("hang up 2\n"), HasSubstr("did not answer within 15 s"), Not(HasSubstr("lost the"))));
}

// After a cut of the network, TCP may wait as long as the cut lasted before it tries the old connection again.
TEST_F(Replacement, AStreamThatAnswersNothingIsReplaced) {
  AgentHarness agent;
  agent.RunRound();
  EXPECT_THAT(agent.Pass(absl::Seconds(9)), Not(HasSubstr("dial"))) << "the scheduler may be slow for a moment";
  EXPECT_THAT(agent.Pass(absl::Seconds(4)), AllOf(HasSubstr("dial 2 as a replacement\n"), Not(HasSubstr("hang up"))));
  EXPECT_THAT(agent.Do(StreamBroken{2, "no route"}),
              HasSubstr("warn: the connection to the scheduler at s:8118 does not answer, and there is no new one yet "
                        "(no route): trying again"));
  EXPECT_THAT(agent.Pass(absl::Seconds(4)), HasSubstr("dial 3 as a replacement\n"));
  EXPECT_THAT(agent.Do(MessageReceived{3, WelcomeMessage(1)}),
              AllOf(HasSubstr("hang up 1\n"), HasSubstr("had stopped answering: a new one has taken its place")));
  agent.AnswerReports();
  EXPECT_THAT(agent.Pass(absl::Minutes(1)), Not(HasSubstr("dial"))) << "it answers";
}

// Each start of a process is reported at once, so there are more reports than heartbeats within the patience.
TEST_F(Replacement, MuchNewsInOneMomentIsNoSilence) {
  AgentHarness agent;
  agent.RunRound(8);
  EXPECT_THAT(agent.Pass(absl::Seconds(1)), Not(HasSubstr("dial")));
  agent.AnswerReports();
  EXPECT_THAT(agent.Pass(absl::Minutes(1)), Not(HasSubstr("dial")));
}

TEST_F(Replacement, AnotherSchedulersWelcomeIsNone) {
  Begin();
  EXPECT_THAT(agent_.Do(MessageReceived{2, WelcomeMessage(1, "another")}), HasSubstr("hang up 2\n"));
}

TEST_F(Replacement, ARenewalDuringADialIsNotLost) {
  agent_.Begin();
  EXPECT_EQ(agent_.Do(TlsChanged{true}), "") << "the dial may have read the certificate before";
  agent_.Welcome();
  EXPECT_THAT(agent_.Pass(kSpan), HasSubstr("dial 2 as a replacement\n"));
  agent_.Do(TlsChanged{true});
  agent_.Do(MessageReceived{2, WelcomeMessage()});
  EXPECT_THAT(agent_.Pass(kSpan), HasSubstr("dial 3 as a replacement\n"));
  agent_.Do(MessageReceived{3, WelcomeMessage()});
  EXPECT_THAT(agent_.Pass(kSpan), Not(HasSubstr("dial")));
}

TEST_F(Replacement, ARenewalWhileNothingIsDialedNeedsNone) {
  agent_.RunRound();
  agent_.Break("Socket closed");
  agent_.Do(TlsChanged{true});
  EXPECT_THAT(agent_.Pass(absl::Milliseconds(200)), HasSubstr("dial 2\n"));
  agent_.Welcome(true);
  EXPECT_THAT(agent_.Pass(kSpan), Not(HasSubstr("dial")));
}

TEST_F(Replacement, EventsAndPeersGoOnOverTheNewStream) {
  agent_.Begin();
  agent_.Welcome();
  agent_.Desire(Running(1));  // asks for the peers on stream 1
  agent_.Do(TlsChanged{true});
  agent_.Pass(kSpan);
  EXPECT_THAT(agent_.Do(MessageReceived{2, WelcomeMessage()}), HasSubstr("fetch peers of run 3 round 1\n"));
  agent_.Peers(1);
  EXPECT_THAT(agent_.Started(0), HasSubstr("send 2: report"));
}

TEST_F(Replacement, AnAnswerAboutStacksFollows) {
  agent_.RunRound();
  v1::SchedulerMessage query;
  query.mutable_stack_query()->set_query(8);
  query.mutable_stack_query()->add_slots(0);
  agent_.Receive(query);
  agent_.Do(TlsChanged{true});
  agent_.Pass(kSpan);
  agent_.Do(MessageReceived{2, WelcomeMessage(1)});
  StacksGathered gathered{8, {}};
  EXPECT_THAT(agent_.Do(gathered), HasSubstr("send 2: stacks 8:"));
}

// The welcome answers a dial that is older than the last answered heartbeat: the fence must not come nearer.
TEST_F(Replacement, DoesNotBringTheFenceNearer) {
  agent_.Begin();
  agent_.Welcome(false, 0, absl::Seconds(30));
  agent_.Desire(Running(1));
  agent_.Peers(1);
  agent_.Started(0);
  agent_.Do(TlsChanged{true});
  agent_.Pass(kSpan);
  agent_.Pass(absl::Seconds(10));
  v1::SchedulerMessage acknowledged;
  acknowledged.set_term(1);
  uint64_t heartbeat = 0;
  for (uint64_t seq = 1; seq < 20; ++seq) {
    acknowledged.mutable_acknowledgement()->set_heartbeat_seq(seq);
    acknowledged.mutable_acknowledgement()->set_events_through(1);
    acknowledged.mutable_acknowledgement()->set_fence_timeout_ms(30'000);
    if (agent_.Do(MessageReceived{1, acknowledged}).find("fence at") != std::string::npos) heartbeat = seq;
  }
  ASSERT_GT(heartbeat, 0u);
  const auto fence_in = [&](const std::string& text) {
    const size_t at = text.find("fence at ");
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + 9));
  };
  v1::SchedulerMessage welcome = WelcomeMessage(1);
  welcome.mutable_welcome()->set_fence_timeout_ms(30'000);
  const std::string text = agent_.Do(MessageReceived{2, welcome});
  // Ten seconds of fence_stop_timeout and five of margin; the last heartbeat is less than two seconds old.
  EXPECT_GE(fence_in(text), absl::ToInt64Milliseconds(agent_.now()) + 15'000 - 2'000) << text;
}

}  // namespace
}  // namespace muster::agent
