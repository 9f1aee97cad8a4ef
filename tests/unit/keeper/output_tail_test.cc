#include "worker_agent/keeper/files/output_tail.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::agent {
namespace {

TEST(OutputTail, GivesTheLastLinesAndThenWhatCameSince) {
  OutputTail tail;
  tail.Feed("one\ntwo\nthr");
  OutputPart part = tail.Read(0, 10);
  EXPECT_EQ(part.text, "one\ntwo\n");
  EXPECT_EQ(part.unfinished, "thr");
  EXPECT_FALSE(part.has_gap);
  tail.Feed("ee\n");
  part = tail.Read(part.end, 10);
  EXPECT_EQ(part.text, "three\n");
  EXPECT_EQ(part.unfinished, "");
  EXPECT_EQ(part.end, 14u);
  EXPECT_EQ(tail.Read(part.end, 10).text, "") << "nothing is new";
}

TEST(OutputTail, FewerLinesThanThereAreIsAGap) {
  OutputTail tail;
  tail.Feed("one\ntwo\nthree\n");
  const OutputPart part = tail.Read(0, 2);
  EXPECT_EQ(part.text, "two\nthree\n");
  EXPECT_TRUE(part.has_gap);
  EXPECT_EQ(tail.Read(4, 1).text, "three\n");
}

TEST(OutputTail, WhatIsForgottenIsAGapAndNoLineBeginsInItsMiddle) {
  OutputTail tail;
  for (int i = 0; i < 40'000; ++i) tail.Feed("line " + std::to_string(i) + "\n");
  const OutputPart part = tail.Read(1, 1000);
  EXPECT_TRUE(part.has_gap);
  EXPECT_EQ(part.text.substr(0, 11), "line 39000\n");
  const OutputPart all = tail.Read(1, 1'000'000);
  EXPECT_EQ(all.text.substr(0, 5), "line ");
  EXPECT_LE(all.text.size(), OutputTail::kMaxBytes);
}

TEST(OutputTail, AnImpossiblePlaceGivesNothing) {
  OutputTail tail;
  tail.Feed("one\n");
  const OutputPart part = tail.Read(1000, 10);
  EXPECT_EQ(part.text, "");
  EXPECT_EQ(part.end, 1000u);
}

TEST(OutputTail, OfAProgressBarTheLastStateIsShownAndNothingMovesTheCursor) {
  OutputTail tail;
  tail.Feed("10 %\r20 %\r30 %\n\x1b[2Jclear\xff\n40 %\r50 %");
  const OutputPart part = tail.Read(0, 10);
  EXPECT_EQ(part.text, "30 %\nclear?\n");
  EXPECT_EQ(part.unfinished, "50 %");
}

TEST(OutputTail, ALongProgressBarIsNoGap) {
  OutputTail tail;
  tail.Feed("begun\n");
  const uint64_t place = tail.Read(0, 10).end;
  OutputPart part;
  for (int i = 0; i < 60'000; ++i) {
    tail.Feed("\r" + std::to_string(i) + " of 60000");
    if (i % 1000 != 0) continue;
    part = tail.Read(place, 10);
    ASSERT_FALSE(part.has_gap) << i;
    ASSERT_EQ(part.end, place) << i;
    ASSERT_EQ(part.text, "");
  }
  tail.Feed("\r60000 of 60000\r\ndone\n");
  part = tail.Read(place, 10);
  EXPECT_EQ(part.text, "60000 of 60000\ndone\n") << "its beginning is forgotten, its last state is not";
  EXPECT_FALSE(part.has_gap);
}

TEST(OutputTail, LinesThatAreForgottenBeforeAProgressBarAreAGap) {
  OutputTail tail;
  tail.Feed("read\n");
  const uint64_t place = tail.Read(0, 10).end;
  tail.Feed("not read\n");
  for (int i = 0; i < 20'000; ++i) tail.Feed("\rstep " + std::to_string(i));
  OutputPart part = tail.Read(place, 10);
  EXPECT_TRUE(part.has_gap);
  tail.Feed("\n");
  part = tail.Read(part.end, 10);
  EXPECT_EQ(part.text, "step 19999\n");
  EXPECT_TRUE(part.has_gap) << "reported again when text comes";
}

TEST(OutputTail, ALineThatHasLostItsBeginningIsAGap) {
  OutputTail tail;
  tail.Feed("read\n");
  const uint64_t place = tail.Read(0, 10).end;
  for (int i = 0; i < 3; ++i) tail.Feed(std::string(60'000, 'x'));
  EXPECT_FALSE(tail.Read(place, 10).has_gap) << "it is not whole yet";
  tail.Feed("\r\nnext\n");
  const OutputPart part = tail.Read(place, 10);
  EXPECT_EQ(part.text, "next\n");
  EXPECT_TRUE(part.has_gap);
}

TEST(OutputTail, ALineWithoutEndIsCut) {
  OutputTail tail;
  tail.Feed(std::string(300'000, 'x'));
  const OutputPart part = tail.Read(0, 10);
  EXPECT_EQ(part.text, "");
  EXPECT_LE(part.unfinished.size(), OutputTail::kMaxLogLineBytes);
  tail.Feed("\nnext\n");
  EXPECT_EQ(tail.Read(0, 1).text, "next\n");
}

}  // namespace
}  // namespace muster::agent
