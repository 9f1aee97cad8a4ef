#include "worker_agent/keeper/client/keeper_pulse.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::agent {
namespace {

using Finding = KeeperPulse::Finding;

// Looks each second from `from_ms` on, without an answer; what the looks found, None left out.
std::vector<Finding> Silence(KeeperPulse& pulse, int64_t from_ms, int seconds) {
  std::vector<Finding> found;
  for (int i = 0; i < seconds; ++i) {
    const Finding finding = pulse.Look(from_ms + i * 1000);
    if (finding != Finding::kNone) found.push_back(finding);
    if (finding == Finding::kGiveUp) break;
    pulse.WantsPing(from_ms + i * 1000);
  }
  return found;
}

TEST(KeeperPulse, OnePingUntilItIsAnswered) {
  KeeperPulse pulse;
  EXPECT_TRUE(pulse.WantsPing(100'000));
  EXPECT_FALSE(pulse.WantsPing(109'000));
  EXPECT_FALSE(pulse.Heard());
  EXPECT_FALSE(pulse.WantsPing(100'900));
  EXPECT_TRUE(pulse.WantsPing(101'000));
}

TEST(KeeperPulse, SilenceIsToldOnceAndItsEndToo) {
  KeeperPulse pulse;
  EXPECT_EQ(Silence(pulse, 100'000, 60), std::vector<Finding>{Finding::kSilent}) << "never given up for nothing";
  EXPECT_TRUE(pulse.Heard());
  EXPECT_FALSE(pulse.Heard());
  EXPECT_EQ(Silence(pulse, 200'000, 5), std::vector<Finding>{});
}

TEST(KeeperPulse, AnIdleTimeWithoutPingsIsNoSilence) {
  KeeperPulse pulse;
  pulse.WantsPing(100'000);
  pulse.Heard();
  EXPECT_EQ(pulse.Look(190'000), Finding::kNone);
  pulse.WantsPing(190'000);
  EXPECT_EQ(pulse.Look(194'000), Finding::kNone);
}

TEST(KeeperPulse, AtTheFenceASilentKeeperIsGivenUp) {
  KeeperPulse pulse;
  pulse.SetFence(110'000);
  EXPECT_EQ(Silence(pulse, 100'000, 60), (std::vector<Finding>{Finding::kSilent, Finding::kGiveUp}));
}

TEST(KeeperPulse, OneThatAnswersKeepsTheFenceItself) {
  KeeperPulse pulse;
  pulse.SetFence(100'000);
  for (int64_t now_ms = 100'000; now_ms < 130'000; now_ms += 1000) {
    EXPECT_EQ(pulse.Look(now_ms), Finding::kNone);
    pulse.WantsPing(now_ms);
    pulse.Heard();
  }
}

TEST(KeeperPulse, AMachineThatWasFrozenGivesItTime) {
  KeeperPulse pulse;
  pulse.SetFence(110'000);
  pulse.WantsPing(100'000);
  EXPECT_EQ(pulse.Look(500'000), Finding::kNone) << "the first look afterwards";
  EXPECT_FALSE(pulse.Heard());
  EXPECT_EQ(pulse.Look(501'000), Finding::kNone);
}

TEST(KeeperPulse, AnOrderThatIsNotCarriedOutIsTheEndOfPatience) {
  KeeperPulse pulse;
  pulse.WantsPing(100'000);
  pulse.MustEndBy(120'000);
  pulse.Heard();  // to a ping of before: the order may not have been seen
  EXPECT_EQ(Silence(pulse, 101'000, 60), (std::vector<Finding>{Finding::kSilent, Finding::kGiveUp}));

  KeeperPulse seen;
  seen.MustEndBy(120'000);
  seen.WantsPing(100'000);
  seen.Heard();
  EXPECT_EQ(Silence(seen, 101'000, 60), std::vector<Finding>{Finding::kSilent});
}

}  // namespace
}  // namespace muster::agent
