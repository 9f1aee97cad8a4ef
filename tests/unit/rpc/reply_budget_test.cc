#include "scheduler/rpc/reply_budget.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

TEST(ReplyBudget, BoundsWhatHasNotGoneOut) {
  ReplyBudget budget(100);
  const auto first = budget.Take(60, At(1), nullptr);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(budget.Take(41, At(1), nullptr).has_value());
  EXPECT_TRUE(budget.Take(40, At(1), nullptr).has_value());
  budget.Return(*first);
  budget.Return(*first);
  EXPECT_TRUE(budget.Take(60, At(1), nullptr).has_value());
  EXPECT_FALSE(budget.Take(1, At(1), nullptr).has_value());
}

TEST(ReplyBudget, OneAloneMayBeLarger) {
  ReplyBudget budget(100);
  EXPECT_TRUE(budget.Take(1000, At(1), nullptr).has_value());
  EXPECT_FALSE(budget.Take(1, At(1), nullptr).has_value());
}

TEST(ReplyBudget, WhatIsNotTakenInTimeIsCancelledOnce) {
  ReplyBudget budget(100);
  int cancelled = 0;
  const auto slow = budget.Take(100, At(10), [&] { ++cancelled; });
  const auto quick = budget.Take(0, At(10), [] { ADD_FAILURE() << "it has gone out"; });
  budget.Return(*quick);
  budget.Sweep(At(9.9));
  EXPECT_EQ(cancelled, 0);
  budget.Sweep(At(10));
  budget.Sweep(At(11));
  EXPECT_EQ(cancelled, 1);
  EXPECT_FALSE(budget.Take(1, At(20), nullptr).has_value()) << "its memory is free only when it is gone";
  budget.Return(*slow);
  EXPECT_TRUE(budget.Take(1, At(20), nullptr).has_value());
}

}  // namespace
}  // namespace muster::scheduler
