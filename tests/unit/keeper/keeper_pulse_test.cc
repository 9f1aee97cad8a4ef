#include "worker_agent/keeper/client/keeper_pulse.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::agent {
namespace {

using Finding = KeeperPulse::Finding;

MonotonicTime At(int64_t ms) { return MonotonicTime() + absl::Milliseconds(ms); }

// Looks every second from `from_ms` on, without an answer; returns the findings except None.
std::vector<Finding> Silence(KeeperPulse& pulse, int64_t from_ms, int seconds) {
  std::vector<Finding> found;
  for (int i = 0; i < seconds; ++i) {
    const Finding finding = pulse.Look(At(from_ms + i * 1000));
    if (finding != Finding::kNone) found.push_back(finding);
    if (finding == Finding::kGiveUp) break;
    pulse.WantsPing(At(from_ms + i * 1000));
  }
  return found;
}

TEST(KeeperPulse, OnePingUntilItIsAnswered) {
  KeeperPulse pulse;
  EXPECT_TRUE(pulse.WantsPing(At(100'000)));
  EXPECT_FALSE(pulse.WantsPing(At(109'000)));
  EXPECT_FALSE(pulse.Heard());
  EXPECT_FALSE(pulse.WantsPing(At(100'900)));
  EXPECT_TRUE(pulse.WantsPing(At(101'000)));
}

TEST(KeeperPulse, SilenceIsReportedOnceAndItsEndToo) {
  KeeperPulse pulse;
  EXPECT_EQ(Silence(pulse, 100'000, 60), std::vector<Finding>{Finding::kSilent}) << "never given up for nothing";
  EXPECT_TRUE(pulse.Heard());
  EXPECT_FALSE(pulse.Heard());
  EXPECT_EQ(Silence(pulse, 200'000, 5), std::vector<Finding>{});
}

TEST(KeeperPulse, AnIdleTimeWithoutPingsIsNoSilence) {
  KeeperPulse pulse;
  pulse.WantsPing(At(100'000));
  pulse.Heard();
  EXPECT_EQ(pulse.Look(At(190'000)), Finding::kNone);
  pulse.WantsPing(At(190'000));
  EXPECT_EQ(pulse.Look(At(194'000)), Finding::kNone);
}

TEST(KeeperPulse, AtTheFenceASilentKeeperIsGivenUp) {
  KeeperPulse pulse;
  pulse.SetFence(At(110'000));
  EXPECT_EQ(Silence(pulse, 100'000, 60), (std::vector<Finding>{Finding::kSilent, Finding::kGiveUp}));
}

TEST(KeeperPulse, OneThatAnswersKeepsTheFenceItself) {
  KeeperPulse pulse;
  pulse.SetFence(At(100'000));
  for (MonotonicTime now = At(100'000); now < At(130'000); now = now + absl::Seconds(1)) {
    EXPECT_EQ(pulse.Look(now), Finding::kNone);
    pulse.WantsPing(now);
    pulse.Heard();
  }
}

TEST(KeeperPulse, AMachineThatWasFrozenGivesItTime) {
  KeeperPulse pulse;
  pulse.SetFence(At(110'000));
  pulse.WantsPing(At(100'000));
  EXPECT_EQ(pulse.Look(At(500'000)), Finding::kNone) << "the first look afterwards";
  EXPECT_FALSE(pulse.Heard());
  EXPECT_EQ(pulse.Look(At(501'000)), Finding::kNone);
}

TEST(KeeperPulse, AnOrderThatIsNotCarriedOutIsTheEndOfPatience) {
  KeeperPulse pulse;
  pulse.WantsPing(At(100'000));
  pulse.MustEndBy(At(120'000));
  pulse.Heard();  // an answer to an earlier ping: the keeper may not have seen the order
  EXPECT_EQ(Silence(pulse, 101'000, 60), (std::vector<Finding>{Finding::kSilent, Finding::kGiveUp}));

  KeeperPulse seen;
  seen.MustEndBy(At(120'000));
  seen.WantsPing(At(100'000));
  seen.Heard();
  EXPECT_EQ(Silence(seen, 101'000, 60), std::vector<Finding>{Finding::kSilent});
}

}  // namespace
}  // namespace muster::agent
