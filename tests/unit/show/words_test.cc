#include "common/show/words.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ShortAge, NamesTheLargestUnitThatFits) {
  EXPECT_EQ(ShortAge(absl::ZeroDuration()), "0 s");
  EXPECT_EQ(ShortAge(absl::Milliseconds(5)), "0.1 s");
  EXPECT_EQ(ShortAge(absl::Milliseconds(449)), "0.4 s");
  EXPECT_EQ(ShortAge(absl::Milliseconds(999)), "0.9 s");
  EXPECT_EQ(ShortAge(absl::Milliseconds(1000)), "1 s");
  EXPECT_EQ(ShortAge(absl::Seconds(12)), "12 s");
  EXPECT_EQ(ShortAge(absl::Milliseconds(59'999)), "59 s");
  EXPECT_EQ(ShortAge(absl::Seconds(60)), "1 min");
  EXPECT_EQ(ShortAge(absl::Minutes(59)), "59 min");
  EXPECT_EQ(ShortAge(absl::Hours(1)), "1 h");
  EXPECT_EQ(ShortAge(absl::Hours(49)), "2 d");
}

TEST(ShortAge, ShowsNoNegativeAge) { EXPECT_EQ(ShortAge(absl::Seconds(-3)), "0 s"); }

TEST(FormatTimeLeft, IsExactEnoughToWaitBy) {
  EXPECT_EQ(FormatTimeLeft(-1), "no limit");
  EXPECT_EQ(FormatTimeLeft(0), "0 s");
  EXPECT_EQ(FormatTimeLeft(59'999), "59 s");
  EXPECT_EQ(FormatTimeLeft(1'788'000), "29 min 48 s");
  EXPECT_EQ(FormatTimeLeft(7'500'000), "2 h 5 min");
}

TEST(CompressRanks, JoinsNeighbours) {
  EXPECT_EQ(CompressRanks({}), "");
  EXPECT_EQ(CompressRanks({5}), "5");
  EXPECT_EQ(CompressRanks({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(CompressRanks({7, 3, 1, 2, 0}), "0-3,7");
  EXPECT_EQ(CompressRanks({4, 4, 5}), "4-5");
  EXPECT_EQ(CompressRanks({0, 2, 4}), "0,2,4");
  EXPECT_EQ(CompressRanks({4294967294u, 4294967295u}), "4294967294-4294967295");
}

TEST(Words, AreLowerCaseWithoutPrefix) {
  EXPECT_EQ(PhaseWord(v1::RUN_PHASE_FORMING), "forming");
  EXPECT_EQ(PhaseWord(v1::RUN_PHASE_SUCCEEDED), "succeeded");
  EXPECT_EQ(PhaseWord(static_cast<v1::RunPhase>(99)), "unknown");
  EXPECT_EQ(RoleWord(v1::ROLE_WORKER), "worker");
  EXPECT_EQ(RoleWord(v1::ROLE_UNSPECIFIED), "unknown");
  EXPECT_EQ(CauseWord(v1::Cause::PROCESS_SIGNALED), "process_signaled");
}

TEST(HasEnded, OnlyTheTwoLastPhases) {
  for (int phase = v1::RunPhase_MIN; phase <= v1::RunPhase_MAX; ++phase) {
    const bool is_last = phase == v1::RUN_PHASE_SUCCEEDED || phase == v1::RUN_PHASE_FAILED;
    EXPECT_EQ(HasEnded(static_cast<v1::RunPhase>(phase)), is_last) << "phase " << phase;
  }
}

TEST(FormatWallTime, ShowsTheZonesTimeAndNothingForNone) {
  EXPECT_EQ(FormatWallTime(0, absl::UTCTimeZone()), "");
  EXPECT_EQ(FormatWallTime(1'795'215'870'123, absl::UTCTimeZone()), "2026-11-20 23:04:30");
  EXPECT_EQ(FormatWallTime(1'795'215'870'123, absl::FixedTimeZone(3600)), "2026-11-21 00:04:30");
}

TEST(ZoneName, NamesNoFile) {
  const absl::Time summer = absl::FromUnixSeconds(1'783'000'000), winter = absl::FromUnixSeconds(1'795'215'870);
  absl::TimeZone zone;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/Berlin", &zone));
  EXPECT_EQ(ZoneName(zone, winter), "Europe/Berlin, UTC+01:00");
  EXPECT_EQ(ZoneName(zone, summer), "Europe/Berlin, UTC+02:00");
  EXPECT_EQ(ZoneName(absl::UTCTimeZone(), winter), "UTC");
  EXPECT_EQ(ZoneName(absl::FixedTimeZone(-3600), winter), "UTC-01:00");
  // A zone given by an absolute path has no name.
  ASSERT_TRUE(absl::LoadTimeZone("/usr/share/zoneinfo/Europe/Berlin", &zone));
  EXPECT_EQ(ZoneName(zone, summer), "CEST, UTC+02:00");
  ASSERT_TRUE(absl::LoadTimeZone("/usr/share/zoneinfo/America/Sao_Paulo", &zone));
  EXPECT_EQ(ZoneName(zone, winter), "UTC-03:00") << "its abbreviation is a number, too";
  ASSERT_TRUE(absl::LoadTimeZone("/usr/share/zoneinfo/UTC", &zone));
  EXPECT_EQ(ZoneName(zone, winter), "UTC");
}

TEST(NearMiss, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"status", "nodes", "ranks", "events", "watch", "stop"};
  EXPECT_EQ(NearMiss("statsu", known), "status");
  EXPECT_EQ(NearMiss("node", known), "nodes");
  EXPECT_EQ(NearMiss("stat", known), "status");
  EXPECT_EQ(NearMiss("ev", known), "events");
  EXPECT_EQ(NearMiss("st", known), "stop") << "two completions, but one is two letters off";
  EXPECT_EQ(NearMiss("frobnicate", known), "");
  EXPECT_EQ(NearMiss("", known), "");
}

}  // namespace
}  // namespace muster
