#include "scheduler/frontend/reply_budget.h"

#include <gtest/gtest.h>

#include "tests/unit/common/times.h"

namespace muster::scheduler {
namespace {

constexpr size_t kRoom = 100'000;
constexpr absl::Duration kLimit = absl::Seconds(10);

TEST(ReplyBudget, BoundsWhatHasNotGoneOut) {
  ReplyBudget budget(kRoom);
  const auto first = budget.Take(60'000, At(1), kLimit, nullptr);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(budget.Take(40'001, At(1), kLimit, nullptr).has_value());
  EXPECT_TRUE(budget.Take(40'000, At(1), kLimit, nullptr).has_value());
  budget.Return(*first);
  budget.Return(*first);
  EXPECT_TRUE(budget.Take(60'000, At(1), kLimit, nullptr).has_value());
  EXPECT_FALSE(budget.Take(2'000, At(1), kLimit, nullptr).has_value());
}

TEST(ReplyBudget, ThereIsRoomForSmallOnesAlways) {
  ReplyBudget budget(kRoom);
  EXPECT_TRUE(budget.Take(kRoom, At(1), kLimit, nullptr).has_value());
  EXPECT_TRUE(budget.Take(ReplyBudget::kSmall, At(1), kLimit, nullptr).has_value());
}

TEST(ReplyBudget, OneAloneMayBeLarger) {
  ReplyBudget budget(kRoom);
  EXPECT_TRUE(budget.Take(10 * kRoom, At(1), kLimit, nullptr).has_value());
  EXPECT_FALSE(budget.Take(2'000, At(1), kLimit, nullptr).has_value());
}

TEST(ReplyBudget, AClientThatReadsNothingMakesRoomForOthers) {
  ReplyBudget budget(kRoom);
  int cancelled = 0;
  const auto hog = budget.Take(60'000, At(1), kLimit, [&] { ++cancelled; });
  ASSERT_TRUE(budget.Take(40'000, At(1.5), kLimit, [] { ADD_FAILURE() << "it has not waited for long"; }).has_value());
  EXPECT_FALSE(budget.Take(30'000, At(1.9), kLimit, nullptr).has_value());
  EXPECT_EQ(cancelled, 0);
  EXPECT_TRUE(budget.Take(30'000, At(2), kLimit, nullptr).has_value());
  EXPECT_EQ(cancelled, 1);
  budget.Return(*hog);
  EXPECT_FALSE(budget.Take(31'000, At(2), kLimit, nullptr).has_value()) << "what it held is counted once";
  EXPECT_TRUE(budget.Take(30'000, At(2), kLimit, nullptr).has_value());
}

TEST(ReplyBudget, WhatIsNotTakenInTimeIsCancelledOnce) {
  ReplyBudget budget(kRoom);
  int cancelled = 0;
  const auto slow = budget.Take(kRoom, At(0), kLimit, [&] { ++cancelled; });
  const auto quick = budget.Take(0, At(0), kLimit, [] { ADD_FAILURE() << "it has gone out"; });
  budget.Return(*quick);
  budget.Sweep(At(9.9));
  EXPECT_EQ(cancelled, 0);
  budget.Sweep(At(10));
  budget.Sweep(At(11));
  EXPECT_EQ(cancelled, 1);
  EXPECT_FALSE(budget.Take(2'000, At(20), kLimit, nullptr).has_value()) << "its memory is free only when it is gone";
  budget.Return(*slow);
  EXPECT_TRUE(budget.Take(2'000, At(20), kLimit, nullptr).has_value());
}

}  // namespace
}  // namespace muster::scheduler
