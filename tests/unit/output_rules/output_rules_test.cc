// The compiled rules: what they accept, and what they say of a line.
#include "worker_agent/output_rules/output_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const OutputRules> Rules(std::vector<std::string> expect, std::vector<std::string> fail_on = {}) {
  auto rules = OutputRules::Compile({std::move(expect), std::move(fail_on)});
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *rules : nullptr;
}

TEST(OutputRules, TheFirstGroupIsTheNumber) {
  const auto rules = Rules({R"(step[ =:]+(\d+) of (\d+))"});
  const LineFinding finding = rules->Look("epoch 3 step: 17 of 90");
  EXPECT_TRUE(finding.is_expected);
  EXPECT_EQ(finding.number, "17");
  EXPECT_FALSE(rules->Look("loss 17").is_expected);
}

TEST(OutputRules, ARuleWithoutAGroupHasNoNumber) {
  const LineFinding finding = Rules({"saved"})->Look("checkpoint saved");
  EXPECT_TRUE(finding.is_expected);
  EXPECT_EQ(finding.number, std::nullopt);
}

TEST(OutputRules, TheFirstRuleThatMatchesCounts) {
  const auto rules = Rules({R"(step (\d+))", R"(epoch (\d+))"});
  EXPECT_EQ(rules->Look("epoch 3 step 17").number, "17");
  EXPECT_EQ(rules->Look("epoch 3").number, "3");
}

TEST(OutputRules, AFailureIsNoProgress) {
  const auto rules = Rules({R"(step (\d+))"}, {"(?i)fatal error"});
  const LineFinding finding = rules->Look("FATAL ERROR: no more bread");
  EXPECT_TRUE(finding.is_failure);
  EXPECT_FALSE(finding.is_expected);
  EXPECT_FALSE(rules->Look("step 3").is_failure);
  EXPECT_TRUE(rules->Look("step 3: fatal error").is_expected);
}

TEST(OutputRules, AnyBytesAreALine) {
  const auto rules = Rules({R"(step (\d+))"});
  EXPECT_EQ(rules->Look("\xff\xfe step 4 \x80").number, "4");
  EXPECT_EQ(rules->Look("\xe2\x96\x88 step 5").number, "5");
}

TEST(OutputRules, WhatIsNoRuleSaysWhy) {
  EXPECT_THAT(std::string(OutputRules::Compile({{"step (\\d+"}, {}}).status().message()),
              HasSubstr("--expect 'step (\\d+' must be a regular expression of RE2"));
  EXPECT_THAT(std::string(CheckExpectRule("(a").message()), HasSubstr("missing )"));
  EXPECT_THAT(std::string(CheckFailRule("").message()), HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(std::string(CheckFailRule(std::string(1025, 'a')).message()), HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(std::string(CheckExpectRule("(a)\\1").message()), HasSubstr("invalid escape sequence"));
  EXPECT_THAT(std::string(CheckExpectRule("x*").message()), HasSubstr("must not match an empty line"));
  EXPECT_TRUE(CheckExpectRule("auto").ok());
}

TEST(OutputRules, ARuleThatNeedsMuchMemoryIsRefused) {
  EXPECT_FALSE(CheckExpectRule("((a{100}){100}){100}").ok());
  EXPECT_THAT(std::string(CheckExpectRule("a.{0,900}c").message()), HasSubstr("must be simpler"));
  EXPECT_THAT(std::string(OutputRules::Compile({std::vector<std::string>(33, "a"), {}}).status().message()),
              HasSubstr("more than 32 rules"));
}

// Patterns that make a backtracking matcher take exponential time.
TEST(OutputRules, TimeIsLinear) {
  const auto rules = Rules({"(a+)+$", "(a|aa)+$", "(.*)*(.*)*x$"});
  const std::string line = std::string(4000, 'a') + "!";
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(rules->Look(line).is_expected);
}

std::vector<std::string> AllMatches(const OutputRules& rules, std::string_view lines) {
  std::vector<std::string> found;
  for (size_t at = 0; at < lines.size();) {
    const auto line = rules.NextMatch(lines, at);
    if (!line) break;
    found.emplace_back(*line);
    at = static_cast<size_t>(line->data() - lines.data()) + line->size() + 1;
  }
  return found;
}

TEST(OutputRules, LinesAreFoundAmongMany) {
  const std::string_view lines = "a\nstep 1\n\nb step 2 c\nstep\n3\nend 4\n";
  const auto rules = Rules({R"(^step (\d+)$)", "c$", R"(step[^x]\d)"}, {"^end"});
  EXPECT_THAT(AllMatches(*rules, lines), ::testing::ElementsAre("step 1", "b step 2 c", "end 4"));
}

// Such rules can't be searched in many lines at once, so each line is looked at.
TEST(OutputRules, RulesForTheWholeTextFindTheirLines) {
  for (const char* rule : {R"(\Astep)", R"(step\z)", "(?i)STEP"}) {
    EXPECT_THAT(AllMatches(*Rules({rule}), "a\nstep\nb\n"), ::testing::Contains("step")) << rule;
  }
}

}  // namespace
}  // namespace muster::agent
