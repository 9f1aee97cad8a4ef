// Lines and progress in a stream of bytes, and the limits on lines and on time.
#include "worker_agent/output_rules/rule_matcher.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

// A clock that advances by a fixed time with each look at it.
class SteppingClock : public Clock {
 public:
  explicit SteppingClock(absl::Duration step) : step_(step) {}
  Now Read() const override {
    now_ = now_ + step_;
    return {now_, {}};
  }
  void Advance(absl::Duration by) { now_ = now_ + by; }

 private:
  const absl::Duration step_;
  mutable MonotonicTime now_ = MonotonicTime::FromNanoseconds(1);
};

class RuleMatcherTest : public ::testing::Test {
 protected:
  explicit RuleMatcherTest(absl::Duration step = absl::ZeroDuration()) : clock_(step) {}

  RuleMatcher Make(std::vector<std::string> expect, std::vector<std::string> fail_on = {}) {
    return RuleMatcher(*OutputRules::Compile({std::move(expect), std::move(fail_on)}), time_);
  }

  SteppingClock clock_;
  MatchTime time_{clock_};
};

TEST_F(RuleMatcherTest, ANumberThatDiffersIsProgress) {
  RuleMatcher matcher = Make({R"(step (\d+))"});
  matcher.Feed(0, "step 1\nstep 1\nstep 2\n");
  EXPECT_EQ(matcher.found().changes, 2u);
  EXPECT_EQ(matcher.found().step, 2u);
  matcher.Feed(0, "step 0\n");
  EXPECT_EQ(matcher.found().changes, 3u) << "an epoch begins";
  EXPECT_EQ(matcher.found().step, 0u);
}

TEST_F(RuleMatcherTest, WithoutANumberEachMatchIsProgress) {
  RuleMatcher matcher = Make({"saved"});
  matcher.Feed(0, "saved\nsaved\n");
  EXPECT_EQ(matcher.found().changes, 2u);
  EXPECT_EQ(matcher.found().step, std::nullopt);
}

TEST_F(RuleMatcherTest, ANumberThatIsNotWholeIsNoStep) {
  RuleMatcher matcher = Make({R"(epoch ([\d.]+))"});
  matcher.Feed(0, "epoch 0.5\nepoch 0.6\n");
  EXPECT_EQ(matcher.found().changes, 2u);
  EXPECT_EQ(matcher.found().step, std::nullopt);
  matcher.Feed(0, "epoch 99999999999999999999999\n");
  EXPECT_EQ(matcher.found().changes, 3u);
  EXPECT_EQ(matcher.found().step, std::nullopt);
}

TEST_F(RuleMatcherTest, EachStateOfABarIsALine) {
  RuleMatcher matcher = Make({R"((\d+)/100 \[)"});
  matcher.Feed(0, "\r  1%| | 1/100 [\r  2%| | 2/100 [");
  EXPECT_EQ(matcher.found().step, 1u) << "the last state has not ended";
  matcher.Feed(0, "\r");
  EXPECT_EQ(matcher.found().step, 2u);
}

TEST_F(RuleMatcherTest, ALineMayComeInParts) {
  RuleMatcher matcher = Make({R"(step (\d+)$)"});
  for (const char c : std::string("step 123")) matcher.Feed(0, std::string(1, c));
  EXPECT_EQ(matcher.found().changes, 0u);
  matcher.Feed(0, "\n");
  EXPECT_EQ(matcher.found().step, 123u);
}

TEST_F(RuleMatcherTest, TheStreamsDoNotMixTheirLines) {
  RuleMatcher matcher = Make({R"(^step (\d+)$)"});
  matcher.Feed(0, "st");
  matcher.Feed(1, "step 7\n");
  matcher.Feed(0, "ep 8\n");
  EXPECT_EQ(matcher.found().changes, 2u);
}

TEST_F(RuleMatcherTest, ALastLineWithoutAnEndCounts) {
  RuleMatcher matcher = Make({R"(step (\d+))"});
  matcher.Feed(0, "step 9");
  matcher.Finish();
  EXPECT_EQ(matcher.found().step, 9u);
}

TEST_F(RuleMatcherTest, LongAndBinaryLinesAreUnseen) {
  RuleMatcher matcher = Make({R"(step (\d+))"});
  matcher.Feed(0, absl::StrCat("step 1 ", std::string(RuleMatcher::kMaxLineBytes, 'x'), "\n"));
  matcher.Feed(0, std::string("step 2 \0\n", 9));
  EXPECT_EQ(matcher.found().changes, 0u);
  EXPECT_EQ(matcher.found().unseen, 2u);
  matcher.Feed(0, "step 3\n");
  EXPECT_EQ(matcher.found().step, 3u);
}

TEST_F(RuleMatcherTest, ALineWithoutAnEndTakesNoMoreMemory) {
  RuleMatcher matcher = Make({"x"});
  for (int i = 0; i < 1000; ++i) matcher.Feed(0, std::string(64 * 1024, 'a'));
  matcher.Feed(0, "\n");
  EXPECT_EQ(matcher.found().unseen, 1u);
}

TEST_F(RuleMatcherTest, TheFirstFailureIsKept) {
  RuleMatcher matcher = Make({}, {"fatal"});
  matcher.Feed(1, "ok\nfatal: one\nfatal: two\n");
  EXPECT_EQ(matcher.failure(), "fatal: one");
}

class SlowRuleMatcherTest : public RuleMatcherTest {
 protected:
  SlowRuleMatcherTest() : RuleMatcherTest(absl::Milliseconds(4)) {}
};

TEST_F(SlowRuleMatcherTest, WhatThereIsNoTimeForIsUnseen) {
  RuleMatcher matcher = Make({R"(step (\d+))"});
  std::string lines;
  for (int i = 0; i < 10'000; ++i) absl::StrAppend(&lines, "step ", i, "\n");
  matcher.Feed(0, lines);
  const uint64_t seen = matcher.found().changes;
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, 3000u);
  EXPECT_EQ(seen + matcher.found().unseen, 10'000u);
  clock_.Advance(absl::Seconds(1));
  matcher.Feed(0, "step 77777\n");
  EXPECT_EQ(matcher.found().step, 77777u) << "time has come again";
}

}  // namespace
}  // namespace muster::agent
