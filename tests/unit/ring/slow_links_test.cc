#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "ring/ring_check.h"

namespace muster::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan PlanOf(uint32_t size, uint32_t ranks_on_a_machine) {
  Plan plan;
  for (uint32_t rank = 0; rank < size; ++rank) {
    Peer peer;
    peer.rank = rank;
    peer.machine = rank / ranks_on_a_machine;
    plan.peers.push_back(peer);
  }
  return plan;
}

std::vector<uint32_t> Slow(const Plan& plan, const std::vector<LinkFigures>& links, double factor = 5) {
  std::vector<uint32_t> from;
  for (const Fault& fault : SlowLinks(plan, links, factor)) from.push_back(fault.from);
  return from;
}

TEST(SlowLinks, TheOneThatIsFarBelowTheMedianIsNamed) {
  std::vector<LinkFigures> links(4, {1'000'000'000, 50'000, 60'000});
  links[2].bytes_per_second = 100'000'000;
  const auto faults = SlowLinks(PlanOf(4, 1), links, 5);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].from, 2u);
  EXPECT_EQ(faults[0].reporter, 3u);
  EXPECT_THAT(faults[0].detail, HasSubstr("100.0 MB/s, 10.0 times less than the median"));
  EXPECT_THAT(Slow(PlanOf(4, 1), links, 20), IsEmpty());
  EXPECT_THAT(Slow(PlanOf(4, 1), links, 0), IsEmpty());
}

TEST(SlowLinks, LinksBetweenMachinesAreNotMeasuredByThoseInside) {
  std::vector<LinkFigures> links(8, {5'000'000'000, 10'000, 10'000});
  links[3].bytes_per_second = 100'000'000;
  links[7].bytes_per_second = 100'000'000;
  EXPECT_THAT(Slow(PlanOf(8, 4), links), IsEmpty());
  links[7].bytes_per_second = 1'000'000;
  EXPECT_THAT(Slow(PlanOf(8, 4), links), ElementsAre(7)) << "of two, the faster is the measure";
}

// On a busy machine the bytes waiting in a socket arrive at once: one link was measured with 11 GB/s, and one of the
// same kind with 1.8 GB/s.
TEST(SlowLinks, WhatTakesLessThanAMillisecondMoreIsNotToldApart) {
  std::vector<LinkFigures> links(4, {11'000'000'000, 10'000, 10'000});
  links[1].bytes_per_second = 1'100'000'000;
  EXPECT_THAT(Slow(PlanOf(4, 4), links), IsEmpty());
  links[1].bytes_per_second = 900'000'000;
  EXPECT_THAT(Slow(PlanOf(4, 4), links), ElementsAre(1));
}

TEST(SlowLinks, NothingArrivedIsSlow) {
  std::vector<LinkFigures> links(3, {1'000'000, 0, 0});
  links[0].bytes_per_second = 0;
  EXPECT_THAT(Slow(PlanOf(3, 1), links), ElementsAre(0));
}

TEST(SlowLinks, LatencyCountsOnlyBeyondAMillisecond) {
  std::vector<LinkFigures> links(4, {1'000'000, 20'000, 20'000});
  links[1].latency_ns = 500'000;
  EXPECT_THAT(Slow(PlanOf(4, 1), links), IsEmpty());
  links[1].latency_ns = 5'000'000;
  EXPECT_THAT(Slow(PlanOf(4, 1), links), ElementsAre(1));
}

// Measured on hosts without a free processor: one link is limited to 3 MB/s, two were starved.
TEST(Suspects, AreFoundWhenMostLinksLookSlow) {
  std::vector<LinkFigures> links(4, {4'900'000, 20'000, 20'000});
  links[1].bytes_per_second = 3'000'000;
  links[3].bytes_per_second = 1'340'000'000;
  EXPECT_THAT(Slow(PlanOf(4, 1), links), IsEmpty());
  EXPECT_THAT(Suspects(PlanOf(4, 1), links, 5), ElementsAre(1, 0, 2));
  EXPECT_THAT(Suspects(PlanOf(4, 1), links, 0), IsEmpty());
}

TEST(Suspects, OfOneKindAreNotMeasuredByTheOther) {
  std::vector<LinkFigures> links(8, {5'000'000'000, 10'000, 10'000});
  links[3].bytes_per_second = links[7].bytes_per_second = 100'000'000;
  EXPECT_THAT(Suspects(PlanOf(8, 4), links, 5), IsEmpty());
}

TEST(Suspects, AreAtMostSixteenTheSlowOnesFirst) {
  std::vector<LinkFigures> links(64, {1'000'000, 20'000, 20'000});
  links[0].bytes_per_second = 1'000'000'000;
  links[50].bytes_per_second = 1'000;
  links[40].bytes_per_second = 500'000;
  const std::vector<uint32_t> suspects = Suspects(PlanOf(64, 1), links, 5);
  ASSERT_EQ(suspects.size(), 16u);
  EXPECT_EQ(suspects[0], 50u);
  EXPECT_EQ(suspects[1], 40u);
}

TEST(SlowLinks, OneLinkOfItsKindHasNoMeasure) {
  std::vector<LinkFigures> links(1, {1, 1'000'000'000, 0});
  EXPECT_THAT(Slow(PlanOf(1, 1), links), IsEmpty());
}

}  // namespace
}  // namespace muster::ring
