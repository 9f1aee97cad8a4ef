// Checks how the ranks' reports become one list of faults.
#include "ring/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace muster::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kSize = 8;

Fault Of(uint32_t from, FaultKind kind, uint32_t reporter, uint64_t progress = 0) {
  return {from, (from + 1) % kSize, kind, reporter, progress, ""};
}

std::vector<std::string> RootFaults(const std::vector<Fault>& faults) {
  FaultList list;
  for (const Fault& fault : faults) list.Add(fault);
  std::vector<std::string> words;
  for (const Fault& fault : list.RootFaults()) {
    words.push_back(std::to_string(fault.from) + " " + FaultWord(fault.kind) + " by " + std::to_string(fault.reporter));
  }
  return words;
}

TEST(FaultList, NoFaultsNoRootFaults) { EXPECT_THAT(RootFaults({}), IsEmpty()); }

TEST(FaultList, TheDialersFaultOutranksTheAcceptors) {
  EXPECT_THAT(RootFaults({Of(3, FaultKind::kMissing, 4), Of(3, FaultKind::kRefused, 3)}),
              ElementsAre("3 refused by 3"));
}

// "1.1 2.2 …": each rank's machine, then its address.
std::vector<std::string> Loopbacks(const std::vector<std::pair<uint32_t, std::string>>& ranks) {
  Plan plan;
  for (const auto& [machine, address] : ranks) {
    Peer peer;
    peer.rank = plan.size();
    peer.machine = machine;
    peer.address = *IpAddress::Parse(address);
    plan.peers.push_back(peer);
  }
  std::vector<std::string> found;
  for (const Fault& fault : LoopbackFaults(plan)) {
    EXPECT_EQ(fault.reporter, fault.from);
    EXPECT_THAT(fault.detail, ::testing::HasSubstr("--worker_ip"));
    found.push_back(std::to_string(fault.from) + ">" + std::to_string(fault.to) + " " + FaultWord(fault.kind));
  }
  return found;
}

TEST(LoopbackFaults, ALinkToAnotherMachinesLoopbackNeedsNoTry) {
  EXPECT_THAT(Loopbacks({{0, "127.0.0.1"}, {0, "127.0.0.1"}, {1, "10.0.0.2"}}), ElementsAre("2>0 unreachable"));
  EXPECT_THAT(Loopbacks({{0, "10.0.0.1"}, {1, "::1"}}), ElementsAre("0>1 unreachable"));
}

TEST(LoopbackFaults, NoneOnOneMachineNorWhereAllStandOnOneHost) {
  EXPECT_THAT(Loopbacks({{0, "127.0.0.1"}, {0, "10.0.0.1"}}), IsEmpty());
  EXPECT_THAT(Loopbacks({{0, "127.0.0.1"}, {1, "127.0.0.1"}}), IsEmpty()) << "--machine parts them";
  EXPECT_THAT(Loopbacks({{0, "10.0.0.1"}, {1, "10.0.0.2"}}), IsEmpty());
  EXPECT_THAT(Loopbacks({{0, "127.0.0.1"}}), IsEmpty()) << "a ring of one";
}

TEST(FaultList, ConsequencesAreNotShownBesideACause) {
  EXPECT_THAT(RootFaults({Of(5, FaultKind::kBroken, 6), Of(3, FaultKind::kTimedOut, 3), Of(1, FaultKind::kStalled, 2)}),
              ElementsAre("3 timed out by 3"));
}

TEST(FaultList, AWrongCertificateIsSeenOnBothLinksOfItsRank) {
  EXPECT_THAT(RootFaults({Of(4, FaultKind::kCertificateRefused, 4), Of(4, FaultKind::kWrongCertificate, 5),
                          Of(3, FaultKind::kWrongCertificate, 3)}),
              ElementsAre("3 wrong certificate by 3", "4 wrong certificate by 5"));
}

TEST(FaultList, ADeadRankBreaksBothItsLinks) {
  EXPECT_THAT(
      RootFaults({Of(4, FaultKind::kBroken, 5), Of(3, FaultKind::kBroken, 3), Of(7, FaultKind::kStalled, 0, 9)}),
      ElementsAre("3 broken by 3", "4 broken by 5"));
}

TEST(FaultList, OfStalledLinksTheFirstIsTheOneThatIsNotStarved) {
  // The token reached 3 but not 4; all ranks after 4 wait as long as 4 does.
  std::vector<Fault> faults;
  for (uint32_t rank = 0; rank < kSize; ++rank) {
    const bool has_token = rank >= 1 && rank <= 3;
    faults.push_back(Of((rank + kSize - 1) % kSize, FaultKind::kStalled, rank, has_token ? 6 : 5));
  }
  EXPECT_THAT(RootFaults(faults), ElementsAre("3 stalled by 4"));
  std::reverse(faults.begin(), faults.end());
  EXPECT_THAT(RootFaults(faults), ElementsAre("3 stalled by 4")) << "no matter which rank reported first";
}

TEST(FaultList, ARankThatGetsNoAnswerFromTheNextIsNotStarved) {
  EXPECT_THAT(RootFaults({Of(4, FaultKind::kStalled, 5, 9), Of(2, FaultKind::kStalled, 3, 9),
                          Of(2, FaultKind::kStalled, 2, 4)}),
              ElementsAre("2 stalled by 2"));
}

TEST(FaultList, NothingIsKeptTwiceOrWithoutBound) {
  FaultList list;
  EXPECT_TRUE(list.Add(Of(1, FaultKind::kSlow, 2)));
  EXPECT_FALSE(list.Add(Of(1, FaultKind::kSlow, 2)));
  for (uint32_t reporter = 0; reporter < 2 * kMaxFaults; ++reporter) list.Add(Of(1, FaultKind::kStalled, reporter));
  EXPECT_EQ(list.all().size(), kMaxFaults);
  Fault wordy = Of(2, FaultKind::kSlow, 2);
  wordy.detail = std::string(5000, 'x');
  FaultList other;
  other.Add(wordy);
  EXPECT_LE(other.all()[0].detail.size(), kMaxFaultDetailBytes);
}

TEST(FaultList, TheResultDoesNotDependOnTheOrder) {
  std::vector<Fault> faults = {Of(3, FaultKind::kMissing, 4), Of(3, FaultKind::kTimedOut, 3),
                               Of(5, FaultKind::kSlow, 6), Of(0, FaultKind::kBroken, 1)};
  const auto expected = RootFaults(faults);
  for (int i = 0; i < 24; ++i) {
    std::next_permutation(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
      return a.from * 100 + a.reporter < b.from * 100 + b.reporter;
    });
    EXPECT_EQ(RootFaults(faults), expected);
  }
}

}  // namespace
}  // namespace muster::ring
