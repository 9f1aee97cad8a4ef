#include "common/mindspore/dialect.h"

#include <gtest/gtest.h>

namespace muster::mindspore {
namespace {

TEST(DialectTest, NumbersOfBoth) {
  EXPECT_EQ(AddNumber(Dialect::kOld), 12U);
  EXPECT_EQ(ThereNumber(Dialect::kOld), 10U);
  EXPECT_EQ(NotThereNumber(Dialect::kOld), 11U);
  EXPECT_EQ(AddNumber(Dialect::kNew), 10U);
  EXPECT_EQ(ThereNumber(Dialect::kNew), 11U);
  EXPECT_EQ(NotThereNumber(Dialect::kNew), 12U);
}

TEST(DialectTest, AProcessThatRegistersAtOnceIsNew) {
  DialectGuess guess;
  EXPECT_EQ(guess.current(), Dialect::kOld);
  guess.Registered(absl::Milliseconds(5));
  EXPECT_EQ(guess.current(), Dialect::kNew);
  guess.Registered(absl::Milliseconds(500));
  EXPECT_EQ(guess.current(), Dialect::kOld);
}

TEST(DialectTest, AWrongGuessIsCorrectedOnce) {
  DialectGuess guess;
  guess.Registered(absl::Milliseconds(500));
  guess.Misunderstood();
  EXPECT_EQ(guess.current(), Dialect::kNew);
  guess.Misunderstood();
  guess.Registered(absl::Milliseconds(500));
  EXPECT_EQ(guess.current(), Dialect::kNew) << "certain now";
}

TEST(DialectTest, WhatWasUnderstoodStays) {
  DialectGuess guess;
  guess.Understood();
  guess.Misunderstood();
  guess.Registered(absl::Milliseconds(1));
  EXPECT_EQ(guess.current(), Dialect::kOld);
}

TEST(DialectTest, NoOldVersionAsksForTen) {
  DialectGuess guess;
  guess.Asked(12);
  EXPECT_EQ(guess.current(), Dialect::kOld);
  guess.Asked(10);
  EXPECT_EQ(guess.current(), Dialect::kNew);
}

}  // namespace
}  // namespace muster::mindspore
