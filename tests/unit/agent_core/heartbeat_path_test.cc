// Tests the choice of the path for heartbeats: datagram or stream.
#include "worker_agent/core/connection/heartbeat_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent_core/agent_harness.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One heartbeat each second. The stream answers at once, unless it is made silent.
class HeartbeatPathTest : public ::testing::Test {
 protected:
  using Way = HeartbeatPath::Way;

  void Open(bool is_offered = true) { path_.StreamOpened(now_, is_offered, jitter_); }
  Way Beat() {
    now_ = now_ + absl::Seconds(1);
    path_.CountDue(now_, absl::Seconds(1));
    const Way way = path_.Choose(now_);
    if (way != Way::kDatagram) {
      path_.StreamSent(++seq_, now_);
      if (!is_stream_silent_) path_.StreamAnswered(seq_);
    }
    if (way != Way::kStream) path_.DatagramSent(++seq_);
    return way;
  }
  Way BeatAndAnswer() {
    const Way way = Beat();
    if (way != Way::kStream) path_.DatagramAnswered(seq_);
    return way;
  }

  HeartbeatPath path_;
  Jitter jitter_{1};
  MonotonicTime now_;
  uint64_t seq_ = 0;
  bool is_stream_silent_ = false;
};

TEST_F(HeartbeatPathTest, WithoutAnOfferAllGoesOverTheStream) {
  Open(false);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Beat(), Way::kStream);
}

TEST_F(HeartbeatPathTest, TheFirstGoesBothWaysAndItsAnswerIsEnough) {
  Open();
  EXPECT_EQ(BeatAndAnswer(), Way::kBoth);
  EXPECT_EQ(BeatAndAnswer(), Way::kDatagram);
  EXPECT_EQ(BeatAndAnswer(), Way::kDatagram);
}

TEST_F(HeartbeatPathTest, ALostOneIsMadeUpForByTheNext) {
  Open();
  BeatAndAnswer();
  EXPECT_EQ(Beat(), Way::kDatagram);
  EXPECT_EQ(BeatAndAnswer(), Way::kBoth);
  EXPECT_EQ(BeatAndAnswer(), Way::kDatagram);
}

TEST_F(HeartbeatPathTest, AnAnswerThatComesLateShowsThatTheyGetThrough) {
  Open();
  BeatAndAnswer();
  for (int i = 0; i < 20; ++i) {
    Beat();
    const uint64_t late = seq_;
    EXPECT_EQ(Beat(), Way::kBoth) << "it was missing all the same";
    path_.DatagramAnswered(late);
    path_.DatagramAnswered(seq_);
    EXPECT_FALSE(path_.is_dead());
  }
  EXPECT_EQ(Beat(), Way::kDatagram);
}

TEST_F(HeartbeatPathTest, WhereNothingGetsThroughItIsTriedOnceAMinute) {
  Open();
  for (int i = 0; i < HeartbeatPath::kTries; ++i) EXPECT_EQ(Beat(), Way::kBoth);
  int tries = 0;
  for (int i = 0; i < 600; ++i) tries += Beat() == Way::kBoth ? 1 : 0;
  EXPECT_GE(tries, 9);
  EXPECT_LE(tries, 10);
  EXPECT_TRUE(path_.is_dead());
  // When the scheduler answers datagrams again, the agent notices.
  int seconds = 0;
  while (BeatAndAnswer() != Way::kDatagram) ASSERT_LE(++seconds, 62);
  EXPECT_FALSE(path_.is_dead());
}

TEST_F(HeartbeatPathTest, NowAndThenOneGoesOverTheStream) {
  Open();
  BeatAndAnswer();
  int streams = 0;
  for (int i = 0; i < 600; ++i) {
    const Way way = BeatAndAnswer();
    EXPECT_NE(way, Way::kBoth);
    streams += way == Way::kStream ? 1 : 0;
  }
  EXPECT_GE(streams, 9);
  EXPECT_LE(streams, 11);
}

// Orders come over the stream only: a node that they can't reach must not look healthy.
TEST_F(HeartbeatPathTest, AStreamThatAnswersNothingTakesTheDatagramsAlong) {
  Open();
  BeatAndAnswer();
  is_stream_silent_ = true;
  int seconds = 0;
  while (BeatAndAnswer() != Way::kStream) ASSERT_LE(++seconds, 60);
  int more = 0;
  while (BeatAndAnswer() == Way::kDatagram) ASSERT_LE(++more, 3) << "so much patience it has";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(BeatAndAnswer(), Way::kStream);
  is_stream_silent_ = false;
  Beat();
  EXPECT_EQ(BeatAndAnswer(), Way::kDatagram);
}

TEST_F(HeartbeatPathTest, ASchedulerThatAnswersNothingIsNoFirewall) {
  Open();
  is_stream_silent_ = true;
  for (int i = 0; i < 10; ++i) {
    Beat();
    EXPECT_FALSE(path_.is_dead());
  }
}

TEST_F(HeartbeatPathTest, ANewStreamHasToProveItselfAgain) {
  Open();
  BeatAndAnswer();
  Open();
  EXPECT_EQ(Beat(), Way::kBoth);
}

TEST(HeartbeatDatagrams, GoBesideTheFirstReportAndThenInItsPlace) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams();
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "send 1: report 1\ndatagram 1: 2\n");
  EXPECT_EQ(agent.Acknowledge(0), "");
  EXPECT_EQ(agent.AnswerDatagram(2), "");
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "datagram 1: 3\n");
}

TEST(HeartbeatDatagrams, NewsGoOverTheStream) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams();
  agent.Pass(absl::Seconds(2));
  agent.AnswerDatagram(2);
  agent.Desire(Running(1));
  agent.Peers(1);
  EXPECT_EQ(agent.Started(0), "send 1: report 3, #1 started 0/1/0\n");
  EXPECT_EQ(agent.Acknowledge(1), "");
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "datagram 1: 4\n");
  agent.AnswerDatagram(4);
  agent.Made(0, 5);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("send 1: report 5"));
}

TEST(HeartbeatDatagrams, CarryProgressIfTheSchedulerTakesIt) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::ZeroDuration(), /*takes_progress=*/true);
  agent.Pass(absl::Seconds(2));
  agent.AnswerDatagram(2);
  agent.Desire(Running(1));
  agent.Peers(1);
  agent.Started(0);
  agent.Acknowledge(1);
  agent.Made(0, 5);
  EXPECT_EQ(agent.Pass(absl::Seconds(2)), "datagram 1: 4, progress of round 1: 0/0 step 5 still 2000ms\n");
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("send 1: report 5, progress of round 1"))
      << "the datagram had no answer";
}

TEST(HeartbeatDatagrams, ActivityThatIsTooLongForADatagramGoesOverTheStream) {
  constexpr uint32_t kSlots = 128;
  AgentHarness agent(SmallOptions(kSlots));
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::ZeroDuration(), /*takes_progress=*/true);
  agent.Pass(absl::Seconds(2));
  agent.AnswerDatagram(2);
  agent.Desire(Running(kSlots));
  agent.Peers(1);
  for (uint32_t slot = 0; slot < kSlots; ++slot) agent.Started(slot);
  agent.Acknowledge(kSlots);
  const auto see = [&agent](uint32_t slots) {
    for (uint32_t slot = 0; slot < slots; ++slot) agent.Do(ActivitySeen{{slot, 1, 0}, MonotonicTime(), false, 50, 'S'});
  };
  see(2);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("datagram 1: "));
  agent.AnswerDatagram(3 + kSlots);
  see(kSlots);
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("send 1: report"));
}

TEST(HeartbeatDatagrams, AnswersMoveTheFence) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::Seconds(60));
  const std::string first = agent.Pass(absl::Seconds(2));
  EXPECT_THAT(first, HasSubstr("datagram 1: 2, armed with 60000ms\n"));
  EXPECT_THAT(agent.AnswerDatagram(2, absl::Seconds(60)), HasSubstr("fence at"));
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("datagram 1: 3, armed"));
  // An older answer of the scheduler that comes later is ignored.
  EXPECT_THAT(agent.AnswerDatagram(3, absl::ZeroDuration()), HasSubstr("no fence"));
  EXPECT_EQ(agent.AnswerDatagram(2, absl::Seconds(60)), "");
}

TEST(HeartbeatDatagrams, AreNotReliedOnWhenTheFenceIsNear) {
  AgentOptions options =
      SmallOptions();  // fence_stop_timeout 10 s, heartbeat 2 s: the fence falls 20 s before the timeout
  AgentHarness agent(options);
  agent.Begin();
  agent.WelcomeWithDatagrams(absl::Seconds(20));
  agent.Pass(absl::Seconds(2));
  agent.Acknowledge(0);
  agent.AnswerDatagram(2, absl::Seconds(20));
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("send 1: report 3\n")) << "5 s before the fence falls, 3 s left";
}

TEST(HeartbeatDatagrams, AnswersOfAnEarlierStreamCountForNothing) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams();
  agent.Pass(absl::Seconds(2));
  agent.Break("Socket closed");
  EXPECT_EQ(agent.AnswerDatagram(2), "");
  agent.Pass(absl::Milliseconds(200));
  agent.WelcomeWithDatagrams();
  v1::Acknowledgement late;
  late.set_heartbeat_seq(2);
  agent.Do(HeartbeatAnswered{1, late});
  EXPECT_THAT(agent.Pass(absl::Seconds(2)), HasSubstr("send 2: report 3\ndatagram 2: 4\n"));
}

TEST(HeartbeatDatagrams, WhereNoneGetsThroughThatIsSaidOnce) {
  AgentHarness agent;
  agent.Begin();
  agent.WelcomeWithDatagrams();
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += agent.Pass(absl::Seconds(2));
    text += agent.Acknowledge(0);
  }
  EXPECT_THAT(text, HasSubstr("say: heartbeats go over the connection"));
  EXPECT_THAT(text.substr(text.find("heartbeats go") + 1), Not(HasSubstr("heartbeats go")));
  agent.Break("Socket closed");
  agent.Pass(absl::Milliseconds(200));
  agent.WelcomeWithDatagrams();
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(agent.Pass(absl::Seconds(2)), Not(HasSubstr("heartbeats go"))) << "said for each agent once";
    agent.Acknowledge(0);
  }
}

}  // namespace
}  // namespace muster::agent
