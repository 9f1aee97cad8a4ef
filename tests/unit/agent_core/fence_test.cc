// The fence: first the table of its states, then the agent's actions.
#include "worker_agent/core/connection/fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kStop = absl::Seconds(10);
constexpr absl::Duration kInterval = absl::Seconds(2);
constexpr absl::Duration kFenceTimeout = absl::Seconds(60);  // the fence falls 45 s after the answered heartbeat
constexpr absl::Duration kOther = absl::Seconds(40);         // the fence falls 25 s after the answered heartbeat
constexpr absl::Duration kShort = absl::Seconds(16);  // no room for fence_stop_timeout, the margin and a heartbeat

enum class State { kOff, kArmed, kFallen };

// A fence in one of the states of the table in fence.cc. The last answer was to a heartbeat that was sent at 100 s.
class FenceTable : public ::testing::Test {
 protected:
  static MonotonicTime At(int seconds) { return MonotonicTime() + absl::Seconds(seconds); }

  explicit FenceTable(State state = State::kOff) : fence_(kStop) {
    Answer(100, 101, state == State::kOff ? absl::ZeroDuration() : kFenceTimeout);
    if (state == State::kFallen) Fall();
  }

  std::string Welcome(int dialed, int now, absl::Duration timeout = kFenceTimeout) {
    return Do([&](Effects& out) { fence_.OnWelcome(timeout, At(dialed), kInterval, At(now), out); });
  }
  std::string Answer(std::optional<int> sent, int now, absl::Duration timeout = kFenceTimeout) {
    return Do([&](Effects& out) {
      fence_.OnAnswer(timeout, sent ? std::optional(At(*sent)) : std::nullopt, kInterval, At(now), out);
    });
  }
  std::string Leave() {
    return Do([&](Effects& out) { fence_.OnSchedulerLeaving(out); });
  }
  std::string ChangeCluster() {
    return Do([&](Effects& out) { fence_.OnClusterChanged(out); });
  }
  std::string Fall() {
    return Do([&](Effects& out) { fence_.OnFallen(out); });
  }

  State Now() const {
    if (fence_.falls_at()) return State::kArmed;
    return fence_.counted_on() > absl::ZeroDuration() ? State::kFallen : State::kOff;
  }

  Fence fence_;

 private:
  template <typename Step>
  std::string Do(const Step& step) {
    Effects out;
    step(out);
    fence_.CheckInvariants();
    return ToText(out);
  }
};

class FenceFrom : public FenceTable, public ::testing::WithParamInterface<State> {
 protected:
  FenceFrom() : FenceTable(GetParam()) {}

  bool IsOff() const { return GetParam() == State::kOff; }
  // Returns the expected order to the keeper when the fence is switched off.
  std::string Off() const { return IsOff() ? "" : "no fence\n"; }
};

INSTANTIATE_TEST_SUITE_P(EachState, FenceFrom, ::testing::Values(State::kOff, State::kArmed, State::kFallen),
                         [](const auto& info) {
                           return info.param == State::kOff ? "off" : info.param == State::kArmed ? "armed" : "fallen";
                         });

TEST_P(FenceFrom, BeginsThere) {
  EXPECT_EQ(Now(), GetParam());
  EXPECT_EQ(fence_.IsDown(At(101)), GetParam() == State::kFallen);
}

TEST_P(FenceFrom, AnAnswerWithoutATimeoutTurnsItOff) {
  EXPECT_EQ(Answer(102, 103, absl::ZeroDuration()), Off());
  EXPECT_EQ(Now(), State::kOff);
  EXPECT_FALSE(fence_.IsDown(At(1000)));
}

TEST_P(FenceFrom, AWelcomeWithoutATimeoutTurnsItOff) {
  EXPECT_EQ(Welcome(102, 103, absl::ZeroDuration()), Off());
  EXPECT_EQ(Now(), State::kOff);
}

TEST_P(FenceFrom, AnAnswerInTimeArmsItFromTheSending) {
  EXPECT_EQ(Answer(110, 154), "fence at 155000ms\n");
  EXPECT_EQ(Now(), State::kArmed);
  EXPECT_FALSE(fence_.IsDown(At(154)));
  EXPECT_TRUE(fence_.IsDown(At(155)));
}

TEST_P(FenceFrom, AnAnswerThatComesTooLateChangesNothing) {
  EXPECT_EQ(Answer(110, 155), "");
  EXPECT_EQ(Now(), GetParam());
}

TEST_P(FenceFrom, AnAnswerToAnUnknownHeartbeatChangesNothing) {
  EXPECT_EQ(Answer(std::nullopt, 103), "");
  EXPECT_EQ(Now(), GetParam());
}

TEST_P(FenceFrom, AWelcomeWithTheTimeoutThatWasCountedOnArmsItAlsoInThePast) {
  EXPECT_EQ(Welcome(110, 200), IsOff() ? "" : "fence at 155000ms\n");
  EXPECT_EQ(Now(), IsOff() ? State::kOff : State::kArmed);
  EXPECT_EQ(fence_.IsDown(At(200)), !IsOff());
}

TEST_P(FenceFrom, AWelcomeWithAnotherTimeoutArmsItWhenTheDialWasShort) {
  EXPECT_EQ(Welcome(110, 114, kOther), "fence at 135000ms\n");
  EXPECT_EQ(fence_.counted_on(), kOther);
}

TEST_P(FenceFrom, AWelcomeWithAnotherTimeoutTurnsItOffWhenTheDialWaited) {
  EXPECT_EQ(Welcome(110, 115, kOther), Off());
  EXPECT_EQ(Now(), State::kOff);
}

TEST_P(FenceFrom, AnswersWithoutRoomForTheStopTurnItOffAndWarnOnce) {
  EXPECT_THAT(Answer(102, 102, kShort),
              AllOf(HasSubstr("--fence_timeout 16s is too short for --fence_stop_timeout 10s"), HasSubstr(Off())));
  EXPECT_EQ(Now(), State::kOff);
  EXPECT_EQ(Answer(104, 104, kShort), "");
}

TEST_P(FenceFrom, ASchedulerThatLeavesTurnsItOffUntilTheNextWelcome) {
  EXPECT_EQ(Leave(), Off());
  EXPECT_EQ(Answer(102, 103), "") << "it was sent before";
  EXPECT_EQ(Now(), State::kOff);
  EXPECT_EQ(Welcome(104, 104), "fence at 149000ms\n");
}

TEST_P(FenceFrom, AnotherClusterTurnsItOff) {
  EXPECT_EQ(ChangeCluster(), Off());
  EXPECT_EQ(Now(), State::kOff);
}

TEST_P(FenceFrom, AFallIsSentToTheKeeperOnlyWhereItWasOff) {
  EXPECT_EQ(Fall(), IsOff() ? "no fence\n" : "");
  EXPECT_EQ(Now(), IsOff() ? State::kOff : State::kFallen);
}

// The fence checks whether the timeout leaves room for a heartbeat only when the timeout changes, not when the
// heartbeat interval changes.
TEST_F(FenceTable, OneThatIsCountedOnStaysArmedWhenHeartbeatsGetLonger) {
  Answer(110, 111);
  Effects out;
  fence_.OnAnswer(kFenceTimeout, At(112), absl::Seconds(100), At(113), out);
  EXPECT_EQ(ToText(out), "fence at 157000ms\n");
}

// A dial that waited long began before the last answered heartbeat.
TEST_F(FenceTable, AWelcomeDoesNotBringTheFallNearer) {
  EXPECT_EQ(Answer(110, 111), "fence at 155000ms\n");
  EXPECT_EQ(Welcome(90, 112), "fence at 155000ms\n");
}

// ---- in the agent: deadlines count from the sending of the acknowledged message (fence_stop_timeout is 10 s, the
// margin 5)

TEST(Fence, IsArmedFromTheDialAndMovedByAcknowledgements) {
  AgentHarness agent;
  agent.Pass(absl::Seconds(1));
  agent.Begin();
  agent.Pass(absl::Milliseconds(300));
  EXPECT_THAT(agent.Welcome(false, 0, absl::Seconds(120)), HasSubstr("fence at 106000ms\n"));
  agent.Pass(absl::Seconds(4));
  v1::SchedulerMessage message;
  message.mutable_acknowledgement()->set_heartbeat_seq(1);
  message.mutable_acknowledgement()->set_fence_timeout_ms(60'000);
  const std::string text = agent.Receive(message);
  // Report 1 was sent between 0.5 and 2 s after the welcome at 1.3 s.
  ASSERT_THAT(text, HasSubstr("fence at "));
  const int at = std::stoi(text.substr(text.find("fence at ") + 9));
  EXPECT_GE(at, 1800 + 45'000);
  EXPECT_LE(at, 3300 + 45'000);
  EXPECT_EQ(agent.Receive(message), text);  // receiving it again does not move the fence
}

TEST(Fence, IsDisarmedWhenTheSchedulerSaysSo) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome(false, 0, absl::Seconds(120));
  agent.Pass(absl::Seconds(2));
  EXPECT_EQ(agent.Acknowledge(0), "no fence\n");
  EXPECT_EQ(agent.Acknowledge(0), "");
}

// 12,000 agents dial a restarted scheduler: the last of them waits minutes for its turn.
TEST(Fence, AfterADialThatWaitedLongItIsArmedByTheFirstAnswer) {
  AgentHarness agent;
  agent.Begin();
  agent.Sleep(absl::Seconds(100));
  EXPECT_THAT(agent.Welcome(false, 0, absl::Seconds(60)), Not(HasSubstr("fence at")));
  agent.Pass(absl::Seconds(2));
  v1::SchedulerMessage message;
  message.mutable_acknowledgement()->set_heartbeat_seq(1);
  message.mutable_acknowledgement()->set_fence_timeout_ms(60'000);
  const std::string text = agent.Receive(message);
  ASSERT_THAT(text, HasSubstr("fence at "));
  EXPECT_GE(std::stoi(text.substr(text.find("fence at ") + 9)), 100'000 + 45'000);
}

TEST(Fence, AShorterTimeoutAfterADialThatWaitedLongIsNotArmedInThePast) {
  AgentHarness agent;
  agent.Begin();
  EXPECT_THAT(agent.Welcome(false, 0, absl::Seconds(600)), HasSubstr("fence at 585000ms\n"));
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  agent.Sleep(absl::Seconds(100));
  const std::string text = agent.Welcome(true, 0, absl::Seconds(60));
  EXPECT_THAT(text, HasSubstr("no fence\n"));
  EXPECT_THAT(text, Not(HasSubstr("fence at")));
}

TEST(Fence, ASchedulerWithAShorterTimeoutDisarmsItWhereThereIsNoRoom) {
  AgentHarness agent;  // fence_stop_timeout 10 s, heartbeat 2 s
  agent.Begin();
  EXPECT_THAT(agent.Welcome(false, 0, absl::Seconds(60)), HasSubstr("fence at 45000ms\n"));
  agent.Break("Socket closed");
  agent.Pass(absl::Seconds(4));
  const std::string text = agent.Welcome(true, 0, absl::Seconds(16));
  EXPECT_THAT(text, HasSubstr("--fence_timeout 16s is too short for --fence_stop_timeout 10s"));
  EXPECT_THAT(text, HasSubstr("no fence\n"));
}

// A refusal may come from a firewall, and the scheduler may give the ranks to others.
TEST(Fence, NeitherSilenceNorARefusalMovesIt) {
  AgentHarness agent;
  agent.RunRound(1, absl::Seconds(60));
  EXPECT_THAT(agent.Break("Socket closed"),
              AllOf(HasSubstr("if no scheduler answers within "), Not(HasSubstr("fence at"))));
  agent.Pass(absl::Milliseconds(200));
  EXPECT_THAT(agent.Break("connect timed out"), Not(HasSubstr("fence")));
  agent.Pass(absl::Seconds(3));
  EXPECT_THAT(agent.Break("Connection refused"), Not(HasSubstr("fence")));
}

TEST(Fence, ASchedulerThatSaysThatItGoesAwayDisarmsIt) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::Seconds(60));
  agent.Pass(absl::Seconds(2));
  v1::SchedulerMessage message;
  message.mutable_going_away();
  EXPECT_EQ(agent.Receive(message), "no fence\n");
  EXPECT_EQ(agent.AnswerDatagram(1, absl::Seconds(60)), "") << "it was sent before";
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), Not(HasSubstr("armed with")));
  EXPECT_THAT(agent.Break("the scheduler is shutting down"), Not(HasSubstr("fence")));
  agent.Pass(absl::Milliseconds(150));
  EXPECT_THAT(agent.Welcome(true, 0, absl::Seconds(60)), HasSubstr("fence at "));
}

v1::SchedulerMessage Answer(uint64_t heartbeat_seq, absl::Duration fence) {
  v1::SchedulerMessage message;
  message.mutable_acknowledgement()->set_heartbeat_seq(heartbeat_seq);
  message.mutable_acknowledgement()->set_fence_timeout_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(fence)));
  return message;
}

// The machine slept between heartbeat and answer: an armed fence falls, and an unarmed one need not.
TEST(Fence, AnAnswerThatIsReadTooLateArmsNone) {
  AgentHarness agent;
  agent.Begin();
  agent.Welcome(false, 0, absl::Seconds(60));
  agent.Pass(absl::Seconds(2));
  agent.Sleep(absl::Seconds(50));
  EXPECT_EQ(agent.Receive(Answer(1, absl::Seconds(60))).find("fence at"), std::string::npos);

  AgentHarness unarmed;
  unarmed.Begin();
  unarmed.Welcome();
  unarmed.Pass(absl::Seconds(2));
  unarmed.Sleep(absl::Seconds(50));
  EXPECT_EQ(unarmed.Receive(Answer(1, absl::Seconds(60))).find("fence at"), std::string::npos);
}

// Otherwise the scheduler would rely on a fence that no program keeps.
TEST(Fence, OneThatFellIsNotReportedAsArmedUntilItIsAgain) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::Seconds(60));
  agent.Pass(absl::Seconds(2));
  agent.Receive(Answer(1, absl::Seconds(60)));
  agent.AnswerDatagram(2, absl::Seconds(60));
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("armed with 60000ms"));
  agent.AnswerDatagram(3, absl::Seconds(60));
  agent.Do(FenceHasFallen{});
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), AllOf(HasSubstr("datagram 1: 4\n"), Not(HasSubstr("armed with"))));
  EXPECT_THAT(agent.AnswerDatagram(4, absl::Seconds(60)), HasSubstr("fence at "));
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("armed with 60000ms"));
}

// The order to start comes right after the welcome.
TEST(Fence, OneThatFellIsArmedByTheWelcomeAlsoInThePast) {
  AgentHarness agent;
  agent.RunRound(1, absl::Seconds(60));
  agent.Break("Socket closed");
  agent.Do(FenceHasFallen{});
  agent.Ended(0, 0, 15, true);
  agent.Pass(absl::Milliseconds(200));
  agent.Sleep(absl::Seconds(100));
  EXPECT_THAT(agent.Welcome(true, 1, absl::Seconds(60)), HasSubstr("fence at "));
}

// An order that was sent before the fence fell may come late. By then other nodes have the ranks.
TEST(Fence, WhileItIsDownNothingStarts) {
  AgentHarness agent;
  agent.RunRound(1, absl::Seconds(60));
  agent.Desire(InPhase(v1::RUN_PHASE_RECOVERING, 1));
  agent.Ended(0, 0, 15, true);
  agent.Break("Socket closed");
  agent.Do(FenceHasFallen{});  // nothing runs
  agent.Pass(absl::Milliseconds(200));
  agent.Sleep(absl::Seconds(100));
  agent.Welcome(true, 2, absl::Seconds(60));
  EXPECT_EQ(agent.Desire(Running(1, 2)), "");
  agent.Pass(absl::Seconds(2));
  EXPECT_THAT(agent.Acknowledge(2), AllOf(HasSubstr("fence at "), HasSubstr("fetch peers")));
  EXPECT_THAT(agent.Peers(2), HasSubstr("launch"));
}

// A virtual machine was paused: only the scheduler knows whether the ranks are still this node's.
TEST(Fence, AfterAJumpOfTheClockTheSchedulerIsAskedAtOnceAndByTheStream) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::Seconds(60));
  agent.Pass(absl::Seconds(2));
  agent.Receive(Answer(1, absl::Seconds(60)));
  EXPECT_EQ(agent.Pass(absl::Milliseconds(100)).find("report"), std::string::npos) << "none is due";
  EXPECT_THAT(agent.Do(ClockHasJumped{absl::Hours(1)}),
              AllOf(HasSubstr("the wall clock has jumped forward by 1h"), HasSubstr("send 1: report")));
  EXPECT_EQ(agent.Pass(absl::Milliseconds(100)).find("report"), std::string::npos) << "once";
}

TEST(Fence, OneThatFellWhileItWasDisarmedIsDisarmedOnceMore) {
  AgentHarness agent;
  agent.RunRound(1, absl::Seconds(60));
  agent.Receive(Answer(1, absl::ZeroDuration()));
  EXPECT_THAT(agent.Do(FenceHasFallen{}), HasSubstr("no fence"));
}

TEST(Fence, WhenItFallsTheAgentKeepsRetrying) {
  AgentHarness agent;
  agent.RunRound();
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(150));
  EXPECT_THAT(agent.Do(FenceHasFallen{}), HasSubstr("error: no answer from the scheduler"));
  EXPECT_EQ(agent.Ended(0, 0, 15, true), "");
  EXPECT_THAT(agent.Welcome(true, 1), HasSubstr("#2 ended 0/1/0 code=0 signal=15 stopped"));
  EXPECT_EQ(agent.Desire(Running(1)), "");  // the same attempt does not start twice
}

}  // namespace
}  // namespace muster::agent
