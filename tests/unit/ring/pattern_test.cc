#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ring/plan.h"

namespace muster::ring {
namespace {

TEST(Pattern, SumsAreExactInAnyOrder) {
  ExpectedSum expected;
  std::vector<float> up(1000), down(1000);
  for (uint32_t rank = 0; rank < 1024; ++rank) {
    expected.Add(rank);
    for (size_t i = 0; i < up.size(); ++i) {
      up[i] += PatternValue(rank, i);
      down[i] += PatternValue(1023 - rank, i);
    }
  }
  EXPECT_EQ(up, down);
  EXPECT_FALSE(expected.FirstWrong(up.data(), 0, up.size()).has_value());
}

TEST(Pattern, APartBeginsWhereItBegins) {
  ExpectedSum expected;
  expected.Add(5);
  std::vector<float> part(600);
  for (size_t i = 0; i < part.size(); ++i) part[i] = PatternValue(5, 777 + i);
  EXPECT_FALSE(expected.FirstWrong(part.data(), 777, part.size()).has_value());
  EXPECT_TRUE(expected.FirstWrong(part.data(), 778, part.size()).has_value());
}

TEST(Pattern, OneWrongElementIsFound) {
  ExpectedSum expected;
  expected.Add(1);
  std::vector<float> values(300);
  for (size_t i = 0; i < values.size(); ++i) values[i] = PatternValue(1, i);
  for (const float wrong : {values[299] + 0.25F, std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
    std::vector<float> bad = values;
    bad[299] = wrong;
    EXPECT_EQ(expected.FirstWrong(bad.data(), 0, bad.size()), 299u);
  }
}

TEST(Pattern, RanksDiffer) {
  int equal = 0;
  for (size_t i = 0; i < kPeriod; ++i) equal += PatternValue(0, i) == PatternValue(1, i) ? 1 : 0;
  EXPECT_EQ(equal, 0) << "a part that comes from the wrong rank is seen";
}

}  // namespace
}  // namespace muster::ring
