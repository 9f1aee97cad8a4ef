#include "common/settings/syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ParseSignal, TakesNamesAndNumbers) {
  const struct {
    std::string text;
    int signal;
  } cases[] = {{"TERM", SIGTERM}, {"SIGTERM", SIGTERM}, {"sigterm", SIGTERM}, {"15", SIGTERM}, {"INT", SIGINT},
               {"USR1", SIGUSR1}, {"KILL", SIGKILL},    {"9", SIGKILL},       {"64", 64}};
  for (const auto& c : cases) EXPECT_EQ(ParseSignal(c.text).value_or(-1), c.signal) << c.text;
  for (const std::string text : {"", "0", "65", "-15", "SIG", "SIGSIGTERM", "FOO", "STOP", "18", "15 "}) {
    EXPECT_EQ(ParseSignal(text).status().message(),
              "must be the name or number of a signal that ends processes (TERM, SIGTERM, 15, INT, …)")
        << text;
  }
}

TEST(ParsePortRange, TakesTwoPortsInOrder) {
  EXPECT_EQ(*ParsePortRange("20000-20099"), (NumberRange{20000, 20099}));
  EXPECT_EQ(*ParsePortRange("1024-65535"), (NumberRange{1024, 65535}));
  EXPECT_EQ(*ParsePortRange("5000-5000"), (NumberRange{5000, 5000}));
  for (const std::string text :
       {"", "5000", "1023-2000", "5000-4000", "5000-65536", "-5000", "a-b", "5000-", "1-2-3"}) {
    EXPECT_EQ(ParsePortRange(text).status().message(), "must be A-B with 1024 ≤ A ≤ B ≤ 65535, for example 20000-20099")
        << text;
  }
}

TEST(ParseTail, TakesAllNoneAndLists) {
  EXPECT_THAT(*ParseTail("all"), ElementsAre(kAllRanks));
  EXPECT_THAT(*ParseTail("-1"), ElementsAre(kAllRanks));
  EXPECT_THAT(*ParseTail("none"), IsEmpty());
  const auto listed = ParseTail("0, 3-5");
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(*listed, ElementsAre(NumberRange{0, 0}, NumberRange{3, 5}));
  std::string many = "0";
  for (int i = 0; i < 5000; ++i) many += ",0";
  for (const std::string& text : std::vector<std::string>{"", "x", "0,", "1,,2", "+1", "5-3", "1000000", "-2", "0;1",
                                                          "0-4-5", "99999999999999999999", "All", many}) {
    EXPECT_EQ(ParseTail(text).status().message(), "must be all, none, or a list of ranks like 0,3-5")
        << text.substr(0, 20);
  }
}

TEST(ParseTail, SaysWhichRanksAreShown) {
  const struct {
    std::string text;
    std::vector<uint32_t> below_10;
  } cases[] = {{"0", {0}}, {"0,3-5", {0, 3, 4, 5}}, {" 1 , 8-12 ", {1, 8, 9}}, {"2-2,2", {2}}, {"none", {}}};
  for (const auto& c : cases) {
    const auto tail = ParseTail(c.text);
    ASSERT_TRUE(tail.ok()) << c.text;
    std::vector<uint32_t> shown;
    for (uint32_t rank = 0; rank < 10; ++rank) {
      if (Contains(*tail, rank)) shown.push_back(rank);
    }
    EXPECT_EQ(shown, c.below_10) << c.text;
  }
  EXPECT_TRUE(Contains(*ParseTail("all"), UINT32_MAX));
}

TEST(ParseCoreBinding, TakesAutoAndLists) {
  for (const std::string text : {"auto", "True", "1"}) EXPECT_TRUE(ParseCoreBinding(text)->is_auto) << text;
  for (const std::string text : {"", " ", "false", "False", "0"}) EXPECT_TRUE(ParseCoreBinding(text)->is_off()) << text;
  for (const std::string text : {"0:0-2;1:4,6,5-6;", R"({"device0": ["0-2"], "device1": ["4", "6,5-6"]})"}) {
    const auto binding = ParseCoreBinding(text);
    ASSERT_TRUE(binding.ok()) << text;
    EXPECT_THAT(binding->cpus, ElementsAre(Pair(0, ElementsAre(0, 1, 2)), Pair(1, ElementsAre(4, 5, 6)))) << text;
  }
}

TEST(ParseCoreBinding, RefusesTheRest) {
  for (const std::string text : {"yes",
                                 "0-3",
                                 "0:",
                                 ":1",
                                 "x:1",
                                 "-1:0",
                                 "0:x",
                                 "0:3-1",
                                 "0:1,,2",
                                 "1024:0",
                                 "0:9999",
                                 ";",
                                 "{",
                                 "{}",
                                 "{}x",
                                 "[1]",
                                 R"({"device0":"0-3"})",
                                 R"({"device0":[]})",
                                 R"({"device0":[3]})",
                                 R"({"cpu0":["1"]})",
                                 R"({"deviceX":["1"]})"}) {
    EXPECT_FALSE(ParseCoreBinding(text).ok()) << text;
  }
  EXPECT_EQ(ParseCoreBinding("0:1;0:2").status().message(), "must name each local rank once; 0 is there twice");
}

TEST(ParseVariable, SplitsAtTheFirstEqualsSign) {
  EXPECT_THAT(*ParseVariable("A_1=b=c"), Pair("A_1", "b=c"));
  EXPECT_THAT(*ParseVariable("EMPTY="), Pair("EMPTY", ""));
  for (const std::string text : {"", "A", "=b", "1A=b", "A B=c", "A-B=c"}) {
    EXPECT_EQ(ParseVariable(text).status().message(), "must be NAME=VALUE, with letters, digits and _ in NAME") << text;
  }
}

TEST(ParseLabels, TakesOneOrSeveral) {
  EXPECT_THAT(*ParseLabels("rack=r1,switch=s-3"), ElementsAre(Pair("rack", "r1"), Pair("switch", "s-3")));
  for (const std::string text : {"", "rack", "rack=", "=r1", "rack=r/1", "rack=r1,", "a=b=c"}) {
    EXPECT_FALSE(ParseLabels(text).ok()) << text;
  }
}

}  // namespace
}  // namespace muster
