#include "common/base/clock.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(MonotonicTime, NeverStaysNever) {
  EXPECT_TRUE((MonotonicTime::Never() + absl::Seconds(1)).is_never());
  EXPECT_TRUE((MonotonicTime::FromNanoseconds(5) + absl::InfiniteDuration()).is_never());
  EXPECT_EQ(MonotonicTime::Never() - MonotonicTime::FromNanoseconds(5), absl::InfiniteDuration());
}

TEST(MonotonicTime, WhatLiesBeyondAllTimesSaturates) {
  const auto now = MonotonicTime::FromNanoseconds(1'000);
  const absl::Duration ages = absl::Milliseconds(INT64_MAX);
  EXPECT_TRUE((now + ages).is_never());
  EXPECT_LT(now - ages, now);
  EXPECT_EQ(now - ages, (now - ages) - absl::Seconds(1)) << "the first of all times";
  EXPECT_GT(now - (now - ages), absl::Hours(24 * 365 * 292));
}

TEST(MonotonicTime, CountsAndCompares) {
  const auto early = MonotonicTime::FromNanoseconds(1'000);
  const auto late = early + absl::Milliseconds(3);
  EXPECT_LT(early, late);
  EXPECT_LT(late, MonotonicTime::Never());
  EXPECT_EQ(late - early, absl::Milliseconds(3));
  EXPECT_EQ(late - absl::Milliseconds(3), early);
}

TEST(SystemClock, MonotonicDoesNotFallAndWallIsOfThisCentury) {
  const Now first = Clock::System().Read();
  const Now second = Clock::System().Read();
  EXPECT_LE(first.monotonic, second.monotonic);
  EXPECT_GT(second.wall.unix_ms, int64_t{1'600'000'000} * 1000);
}

}  // namespace
}  // namespace muster
