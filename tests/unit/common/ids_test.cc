#include "common/base/ids.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace muster {
namespace {

unsigned Pick(std::mt19937& random, unsigned count) { return static_cast<unsigned>(random() % count); }

TEST(NumericId, ReadsDigitsOnly) {
  const std::vector<std::pair<std::string, std::optional<uint32_t>>> table = {
      {"0", 0},
      {"000", 0},
      {"007", 7},
      {"999999999", 999'999'999},
      {"0000999999999", 999'999'999},
      {"", {}},
      {"1000000000", {}},
      {"-1", {}},
      {"+1", {}},
      {"1 ", {}},
      {"1a", {}},
      {"0x1", {}},
      {"\xD9", {}},
      {std::string("1\0", 2), {}},
  };
  for (const auto& [id, value] : table) EXPECT_EQ(NumericId(id), value) << "id: " << id;
}

TEST(IsAllDigits, AlsoBeyondWhatFitsAnInteger) {
  EXPECT_TRUE(IsAllDigits("99999999999999999999999999"));
  EXPECT_FALSE(IsAllDigits(""));
  EXPECT_FALSE(IsAllDigits("1.0"));
}

TEST(NaturalLess, ReadsDigitsAsNumbers) {
  const std::vector<std::string> rising = {"",      "01",    "1",      "2",    "10",          "10a",
                                           "a",     "a01",   "a1",     "a1b",  "a2",          "a10",
                                           "a10b2", "a10b9", "a10b10", "node", "node-9.rack", "node-10.rack"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(NaturalLess(rising[i], rising[j]), i < j) << rising[i] << " < " << rising[j];
    }
  }
}

TEST(NaturalLess, NumbersOfAnyLength) {
  const std::string nines(100, '9');
  EXPECT_TRUE(NaturalLess(nines, "1" + std::string(100, '0')));
  EXPECT_FALSE(NaturalLess("1" + std::string(100, '0'), nines));
}

TEST(NaturalLess, IsAStrictTotalOrder) {
  std::mt19937 random(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 120; ++i) {
    std::string text;
    for (size_t length = Pick(random, 6); text.size() < length;) text += "0019ab-."[Pick(random, 8)];
    texts.push_back(text);
  }
  for (const auto& a : texts) {
    for (const auto& b : texts) {
      ASSERT_EQ(NaturalLess(a, b) + NaturalLess(b, a), a == b ? 0 : 1) << a << " and " << b;
      if (!NaturalLess(a, b)) continue;
      for (const auto& c : texts) {
        if (NaturalLess(b, c)) {
          ASSERT_TRUE(NaturalLess(a, c)) << a << " < " << b << " < " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster
