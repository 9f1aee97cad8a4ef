#include "worker_agent/launch/tail_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace muster::agent {
namespace {

std::set<uint32_t> Of(const std::string& text) {
  const auto ranks = TailRanks::Parse(text);
  EXPECT_TRUE(ranks.ok()) << ranks.status();
  std::set<uint32_t> found;
  for (uint32_t rank = 0; rank < 10; ++rank) {
    if (ranks->Contains(rank)) found.insert(rank);
  }
  return found;
}

TEST(TailRanks, Table) {
  EXPECT_EQ(Of("0"), (std::set<uint32_t>{0}));
  EXPECT_EQ(Of("0,3-5"), (std::set<uint32_t>{0, 3, 4, 5}));
  EXPECT_EQ(Of(" 1 , 8-12 "), (std::set<uint32_t>{1, 8, 9}));
  EXPECT_EQ(Of("2-2,2"), (std::set<uint32_t>{2}));
  EXPECT_EQ(Of("none").size(), 0u);
  EXPECT_EQ(Of("all").size(), 10u);
  EXPECT_TRUE(TailRanks::Parse("all")->Contains(UINT32_MAX));
}

TEST(TailRanks, MistakesAreNamed) {
  std::string many = "0";
  for (int i = 0; i < 5000; ++i) many += ",0";
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("1-"), std::string("-1"), std::string("5-3"), std::string("1,,2"),
        std::string("+1"), std::string("1000000"), std::string("0-4-5"), std::string("99999999999999999999"),
        std::string("All"), many}) {
    const auto ranks = TailRanks::Parse(text);
    ASSERT_FALSE(ranks.ok()) << text.substr(0, 20);
    EXPECT_THAT(std::string(ranks.status().message()), ::testing::HasSubstr("--tail"));
  }
}

}  // namespace
}  // namespace muster::agent
