// The agent's side of the store without threads and gRPC: the requests that it sends, the answers that readers get, and
// the time while the scheduler is away.
#include "worker_agent/store/store_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "tests/unit/store/store_core_harness.h"

namespace muster::agent {
namespace {

TEST_F(StoreCoreTest, APatientCallerIsToldWhatItComesToAndNothingBefore) {
  v1::StoreAdd add;
  add.set_key("n");
  add.set_delta(1);
  std::vector<Code> codes;
  const auto done = [&](const absl::StatusOr<v1::StoreReply>& reply) { codes.push_back(reply.status().code()); };
  for (int i = 0; i < 2; ++i) core_.Change(add, done, now_, absl::InfiniteDuration());
  Pass(absl::Seconds(60));
  EXPECT_TRUE(codes.empty()) << "the scheduler is away";
  Connect();
  Asked<v1::StoreAdd>();
  Pass(absl::Seconds(60));
  EXPECT_TRUE(codes.empty()) << "it has gone out";
  Reply(1, std::nullopt, 1);
  EXPECT_EQ(codes, std::vector<Code>({Code::kOk}));
  core_.EndRound();
  EXPECT_EQ(codes.size(), 1u) << "by the caller that takes the effects";
}

TEST_F(StoreCoreTest, WhereManyWaitEachHasItsTurnWithinASecondOrSo) {
  Connect();
  for (int i = 0; i < 2560; ++i) Wait(absl::StrCat("absent", i), absl::Seconds(5));
  EXPECT_EQ(sends_.size(), 256u);
  for (int i = 0; i < 256; ++i) {
    Asked<v1::StoreWait>();
    Fail(Code::kDeadlineExceeded);
  }
  EXPECT_LE(Asked<v1::StoreWait>().limit_ms(), 100u);
}

TEST_F(StoreCoreTest, WhatIsAskedForWhileItIsHeldGoesOutAtTheEnd) {
  Connect();
  core_.Hold();
  Set("a", "1");
  core_.Hold();
  Set("b", "2");
  Wait("c", absl::Seconds(5));
  Pass(StoreCore::kTick);
  core_.Release(now_);
  EXPECT_TRUE(sends_.empty());
  sends_ = core_.Release(now_).sends;
  EXPECT_EQ(Asked<v1::StoreBatch>().edits_size(), 2);
  Asked<v1::StoreWait>();
  EXPECT_TRUE(sends_.empty());
}

TEST_F(StoreCoreTest, ACopyIsNoOlderThanTheLatestAnswerOnceItIsRefreshed) {
  Connect();
  Get("a");
  Asked<v1::StoreGet>();
  Reply(5, "old");
  Get("under way");
  Asked<v1::StoreGet>();
  const uint64_t under_way = last_call_;
  Wait("barrier", absl::Seconds(5));
  Asked<v1::StoreWait>();
  Reply(7, "over");
  core_.Refresh();
  read_.clear();

  Get("barrier");
  EXPECT_EQ(LastRead(), "over") << "as new as that";
  Get("a");
  Asked<v1::StoreGet>();
  Reply(7, "new");
  EXPECT_EQ(LastRead(), "new");

  last_call_ = under_way;
  Reply(6, "old");
  EXPECT_EQ(LastRead(), "nothing");
  Asked<v1::StoreGet>();
  Reply(7, "new");
  EXPECT_EQ(LastRead(), "new");
}

TEST_F(StoreCoreTest, AnOutdatedCopyIsNoneWhileTheSchedulerIsAwayOrSlow) {
  Connect();
  Get("a");
  Asked<v1::StoreGet>();
  Reply(5, "old");
  Set("b", "1");
  Asked<v1::StoreSet>();
  Reply(7);
  core_.Refresh();
  read_.clear();

  Get("a");
  Pass(absl::Seconds(2));
  EXPECT_EQ(LastRead(), "nothing") << "it is slow";
  Disconnect();
  EXPECT_EQ(LastRead(), "nothing") << "it has gone";
  Get("a");
  EXPECT_EQ(LastRead(), "nothing") << "it is away";
  Connect();
  sends_.erase(sends_.begin());  // drops the lost request
  Asked<v1::StoreGet>();
  Reply(7, "new");
  EXPECT_EQ(LastRead(), "new");
}

TEST_F(StoreCoreTest, ThePatientHaveMoreRoomSinceTheyBoundThemselves) {
  const std::string value(kMaxStoreValueBytes, 'v');
  size_t taken = 0;
  v1::StoreSet set;
  set.set_key("x");
  set.set_value(value);
  bool is_refused = false;
  const auto done = [&](const absl::StatusOr<v1::StoreReply>& reply) { is_refused = !reply.ok(); };
  while (!is_refused && taken < 1000) {
    const auto effects = core_.Change(set, done, now_, absl::InfiniteDuration());
    for (const auto& callback : effects.callbacks) callback();
    ++taken;
  }
  EXPECT_EQ(taken * kMaxStoreValueBytes / StoreCore::kMaxPatientBacklogBytes, 1u);
  Set("y", "1");
  EXPECT_EQ(changed_, std::vector<Code>({Code::kResourceExhausted}));
}

TEST_F(StoreCoreTest, AListSeesTheChangesBeforeItAndLeavesNoCopy) {
  Connect();
  Set("d/1", "a");
  v1::StoreList list;
  list.set_key("d/");
  Change(list);
  Asked<v1::StoreSet>();
  EXPECT_TRUE(sends_.empty()) << "after the change, not beside it";
  Reply(1);
  EXPECT_EQ(Asked<v1::StoreList>().key(), "d/");
  Reply(1);
  EXPECT_EQ(changed_, std::vector<Code>({Code::kOk, Code::kOk}));
  Get("d/");
  EXPECT_EQ(Asked<v1::StoreGet>().key(), "d/") << "what is listed under a prefix is no value of it";
}

TEST_F(StoreCoreTest, AReadIsFetchedOnceAndGoodForASecond) {
  Connect();
  Get("x");
  Get("x");
  EXPECT_EQ(Asked<v1::StoreGet>().caller().round(), 1u);
  EXPECT_TRUE(sends_.empty()) << "one request serves both";
  Reply(3, "1");
  EXPECT_EQ(LastRead(), "1");
  EXPECT_EQ(LastRead(), "1");
  Get("x");
  EXPECT_EQ(LastRead(), "1");
  EXPECT_TRUE(sends_.empty());
  Pass(StoreCore::kFreshFor);
  Get("x");
  Asked<v1::StoreGet>();
  Reply(4, "2");
  EXPECT_EQ(LastRead(), "2");
}

TEST_F(StoreCoreTest, ThatAKeyIsAbsentIsNotKept) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  Reply(0);
  EXPECT_EQ(LastRead(), "absent");
  Get("x");
  Asked<v1::StoreGet>();
}

TEST_F(StoreCoreTest, AwayTheCopyAnswersAndWhatIsUnknownIsUnavailable) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  Reply(1, "1");
  Disconnect();
  Pass(absl::Minutes(1));
  Get("x");
  EXPECT_EQ(LastRead(), "1");
  EXPECT_EQ(LastRead(), "1");
  Get("y");
  EXPECT_TRUE(read_.empty()) << "it may be back in time";
  Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_EQ(LastRead(), "UNAVAILABLE");
}

TEST_F(StoreCoreTest, AReadUnderWayIsAskedForAgainOverAnotherConnection) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  Connect();  // the connection of a renewed certificate
  EXPECT_TRUE(read_.empty());
  Asked<v1::StoreGet>();
  Disconnect();
  Pass(absl::Seconds(2));
  EXPECT_TRUE(read_.empty());
  Connect();
  Asked<v1::StoreGet>();
  Reply(1, "1");
  EXPECT_EQ(LastRead(), "1");
  EXPECT_TRUE(core_.IsIdle());
}

TEST_F(StoreCoreTest, AnotherConnectionIsNoReasonToTakeAnOldCopy) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  Reply(1, "1");
  EXPECT_EQ(LastRead(), "1");
  Pass(absl::Seconds(2));
  Get("x");
  Asked<v1::StoreGet>();
  Connect();
  EXPECT_TRUE(read_.empty());
  Asked<v1::StoreGet>();
  Reply(2, "2");
  EXPECT_EQ(LastRead(), "2");
}

TEST_F(StoreCoreTest, WhatWasAskedForTwiceIsNotFresh) {
  Connect();
  Set("x", "mine");
  Asked<v1::StoreSet>();  // made as version 1; the answer is lost, and another node changes the key
  Disconnect();
  Pass(absl::Seconds(10));
  Connect();
  Asked<v1::StoreSet>();
  Reply(1);
  Get("x");
  EXPECT_TRUE(read_.empty());
  Asked<v1::StoreGet>();
  Reply(2, "theirs");
  EXPECT_EQ(LastRead(), "theirs");
  Disconnect();
  Get("x");
  EXPECT_EQ(LastRead(), "theirs");
}

TEST_F(StoreCoreTest, NothingIsLeftOfWaitsThatEndedWhileTheSchedulerWasAway) {
  for (int i = 0; i < 100; ++i) Wait(absl::StrCat("w", i), absl::Seconds(1));
  Get("g");
  EXPECT_FALSE(core_.IsIdle());
  Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_EQ(read_.size(), 101u);
  EXPECT_TRUE(core_.IsIdle());
  Connect();
  EXPECT_TRUE(sends_.empty());
  Wait("w7", absl::Seconds(1));
  Asked<v1::StoreWait>();
}

TEST_F(StoreCoreTest, AChangeThatIsRefusedAfterItsCallerHasGoneIsReported) {
  Set("x", "1");
  Set("y", "2");
  Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kDeadlineExceeded, Code::kDeadlineExceeded));
  Connect();
  Asked<v1::StoreBatch>();
  Fail(Code::kResourceExhausted);  // then each is sent alone
  Asked<v1::StoreSet>();
  Fail(Code::kResourceExhausted);
  EXPECT_THAT(refused_, ::testing::ElementsAre("x"));
  Asked<v1::StoreSet>();
  Reply(1);
  Set("z", "3");
  Asked<v1::StoreSet>();
  Fail(Code::kResourceExhausted);
  EXPECT_THAT(refused_, ::testing::ElementsAre("x")) << "a call that still waits gets its own answer";
}

TEST_F(StoreCoreTest, ChangesGoOutInOrderAndReadersSeeThemAtOnce) {
  Connect();
  Set("x", "1");
  Set("x", "2");
  Add("n", 1);
  Delete("y");
  Get("x");
  EXPECT_EQ(LastRead(), "2");
  Get("y");
  EXPECT_EQ(LastRead(), "absent");
  v1::StoreSet first = Asked<v1::StoreSet>();
  EXPECT_EQ(first.number(), 1u);
  EXPECT_EQ(first.value(), "1");
  EXPECT_TRUE(sends_.empty()) << "the next one only once this is answered";
  Reply(1);
  EXPECT_EQ(Asked<v1::StoreSet>().number(), 2u);
  Reply(2);
  EXPECT_EQ(Asked<v1::StoreAdd>().number(), 3u);
  Reply(3);
  EXPECT_EQ(Asked<v1::StoreDelete>().number(), 4u);
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kOk, Code::kOk, Code::kOk));
}

TEST_F(StoreCoreTest, AChangeThatWasPerhapsNotHeardIsAskedForAgainUnderItsNumber) {
  Connect();
  Add("count", 1);
  EXPECT_EQ(Asked<v1::StoreAdd>().number(), 1u);
  Fail(Code::kUnavailable);
  EXPECT_TRUE(sends_.empty()) << "not at once";
  Pass(absl::Seconds(1));
  EXPECT_EQ(Asked<v1::StoreAdd>().number(), 1u);
  Disconnect();
  Connect();
  EXPECT_EQ(Asked<v1::StoreAdd>().number(), 1u);
  Reply(1, std::nullopt, 1);
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kOk));
}

TEST_F(StoreCoreTest, AReadBehindAnAddWaitsForIt) {
  Connect();
  Add("count", 5);
  Get("count");
  EXPECT_TRUE(read_.empty());
  Asked<v1::StoreAdd>();
  Reply(1, std::nullopt, 12);
  EXPECT_EQ(LastRead(), "12");
}

TEST_F(StoreCoreTest, NoWaitIsLongerThanFiveSeconds) {
  Set("x", "1");
  Add("count", 1);
  Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kDeadlineExceeded, Code::kUnavailable));
  Connect();
  EXPECT_EQ(Asked<v1::StoreSet>().value(), "1") << "a Set goes out late";
  Reply(1);
  EXPECT_TRUE(sends_.empty()) << "an Add does not";
  Get("y");
  Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_EQ(LastRead(), "DEADLINE_EXCEEDED");
}

TEST_F(StoreCoreTest, AnOldValueIsBetterThanNone) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  Reply(1, "1");
  EXPECT_EQ(LastRead(), "1");
  Pass(absl::Seconds(2));
  Get("x");
  EXPECT_TRUE(read_.empty()) << "the scheduler is asked";
  Pass(absl::Seconds(1));
  EXPECT_EQ(LastRead(), "1") << "and doesn't answer";
}

TEST_F(StoreCoreTest, OneMebibyteOfChangesMayWait) {
  const std::string value(kMaxStoreValueBytes, 'v');
  size_t taken = 0;
  while (taken < 100 && changed_.empty()) Set(absl::StrCat("k", ++taken), value);
  EXPECT_EQ(taken, 16u) << "15 of 64 KiB and a little fit";
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kResourceExhausted));
  EXPECT_LE(core_.backlog_bytes(), kMaxStoreBacklogBytes);
  Connect();
  const int sent = Asked<v1::StoreBatch>().edits_size();
  Reply(1);
  Set("more", value);
  EXPECT_EQ(changed_.size(), 1u + sent) << "there is room again";
}

TEST_F(StoreCoreTest, NothingOutlivesItsRound) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  Reply(1, "1");
  EXPECT_EQ(LastRead(), "1");
  Set("y", "2");
  Asked<v1::StoreSet>();
  Get("z");
  Begin(2);
  EXPECT_EQ(LastRead(), "FAILED_PRECONDITION");
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kFailedPrecondition));
  Reply(2);  // from the round before
  sends_.clear();
  Get("x");
  EXPECT_EQ(Asked<v1::StoreGet>().caller().round(), 2u);
  Set("y", "3");
  EXPECT_EQ(Asked<v1::StoreSet>().number(), 2u) << "numbers go on";
}

TEST_F(StoreCoreTest, TheSchedulersWordThatTheRoundIsOverEndsEverything) {
  Connect();
  Get("x");
  Set("y", "1");
  Asked<v1::StoreGet>();
  Fail(Code::kFailedPrecondition);
  EXPECT_EQ(LastRead(), "FAILED_PRECONDITION");
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kFailedPrecondition));
  EXPECT_TRUE(core_.IsIdle());
  Get("x");
  EXPECT_EQ(LastRead(), "FAILED_PRECONDITION");
}

TEST_F(StoreCoreTest, WaitsAreAskedForAgainUntilTheirTimeIsUp) {
  Connect();
  Wait("x", absl::Seconds(3));
  EXPECT_EQ(Asked<v1::StoreWait>().limit_ms(), 3000u);
  now_ = now_ + absl::Seconds(1);
  Fail(Code::kDeadlineExceeded);
  Asked<v1::StoreWait>();
  Reply(1, "here");
  EXPECT_EQ(LastRead(), "here");
  Wait("y", absl::Seconds(60));
  Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_EQ(LastRead(), "DEADLINE_EXCEEDED") << "no call waits longer than that";
}

TEST_F(StoreCoreTest, AWaitThatIsNearlyOverIsNotAskedForAgain) {
  Connect();
  Wait("x", absl::Milliseconds(1500));
  Asked<v1::StoreWait>();
  now_ = now_ + absl::Microseconds(1'499'500);
  Fail(Code::kDeadlineExceeded);
  EXPECT_TRUE(sends_.empty());
  Pass(StoreCore::kTick);
  EXPECT_EQ(LastRead(), "DEADLINE_EXCEEDED");
  EXPECT_TRUE(core_.IsIdle());
  Wait("y", absl::ZeroDuration());
  Asked<v1::StoreWait>();
  Reply(1, "here");
  EXPECT_EQ(LastRead(), "here") << "a call without any time is asked for once";
}

TEST_F(StoreCoreTest, AWaitAfterTheOwnDeletionIsNotAnsweredWithTheOldValue) {
  Connect();
  Delete("x");
  Wait("x", absl::Seconds(3));
  Asked<v1::StoreDelete>();
  EXPECT_TRUE(sends_.empty());
  Reply(2);
  Asked<v1::StoreWait>();
  Reply(3, "new");
  EXPECT_EQ(LastRead(), "new");
}

TEST_F(StoreCoreTest, AnAnswerFromBeforeTheOwnChangeIsNotBelieved) {
  Connect();
  Get("x");
  Asked<v1::StoreGet>();
  const uint64_t get = last_call_;
  Delete("x");
  Asked<v1::StoreDelete>();
  Reply(7);
  last_call_ = get;
  Reply(6, "old");
  EXPECT_TRUE(read_.empty());
  Asked<v1::StoreGet>();
  Reply(7);
  EXPECT_EQ(LastRead(), "absent");
}

TEST_F(StoreCoreTest, FewRequestsAreUnderWayAtOnce) {
  Connect();
  for (int i = 0; i < 1000; ++i) {
    Get(absl::StrCat("k", i));
    Wait(absl::StrCat("w", i), absl::Seconds(5));
  }
  EXPECT_EQ(sends_.size(), 512u);
  size_t answered = 0;
  while (!sends_.empty() && answered < 5000) {
    last_call_ = sends_.front().call;
    sends_.erase(sends_.begin());
    Reply(1, "v");
    ++answered;
  }
  EXPECT_EQ(answered, 2000u);
  EXPECT_EQ(read_.size(), 2000u);
  EXPECT_TRUE(core_.IsIdle());
}

TEST_F(StoreCoreTest, LimitsAreReportedAtOnce) {
  Get("");
  EXPECT_EQ(LastRead(), "INVALID_ARGUMENT");
  Get(std::string(kMaxStoreKeyBytes + 1, 'k'));
  EXPECT_EQ(LastRead(), "INVALID_ARGUMENT");
  Set("x", std::string(kMaxStoreValueBytes + 1, 'v'));
  EXPECT_THAT(changed_, ::testing::ElementsAre(Code::kInvalidArgument));
  for (size_t i = 0; i < kMaxStoreReads + 1; ++i) Wait(absl::StrCat("k", i), absl::Seconds(5));
  EXPECT_EQ(LastRead(), "RESOURCE_EXHAUSTED");
}

}  // namespace
}  // namespace muster::agent
