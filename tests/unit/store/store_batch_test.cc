// Changes that are sent together over a stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "tests/unit/store/store_core_harness.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreBatchTest : public StoreCoreTest {
 protected:
  void SetUp() override {
    StoreCoreTest::SetUp();
    Connect();
  }
  void PutNew(const std::string& key, const std::string& value) {
    v1::StoreCompareAndSet swap;
    swap.set_key(key);
    swap.set_desired(value);
    Change(std::move(swap));
  }
  // `first` is in progress, the others wait.
  void AskFor(const std::string& first, const std::vector<std::string>& others) {
    Set(first, "1");
    for (const std::string& key : others) Set(key, "1");
    EXPECT_EQ(Asked<v1::StoreSet>().key(), first);
    EXPECT_THAT(sends_, IsEmpty());
  }
};

TEST_F(StoreBatchTest, WhatWaitsGoesTogether) {
  AskFor("a", {"b"});
  PutNew("c", "3");
  Delete("d");
  Reply(1);
  const auto batch = Asked<v1::StoreBatch>();
  EXPECT_EQ(batch.number(), 2);
  EXPECT_EQ(batch.caller().node_id(), "n1");
  ASSERT_EQ(batch.edits_size(), 3);
  EXPECT_EQ(batch.edits(0).value(), "1");
  EXPECT_FALSE(batch.edits(0).only_new());
  EXPECT_EQ(batch.edits(1).key(), "c");
  EXPECT_TRUE(batch.edits(1).only_new());
  EXPECT_FALSE(batch.edits(2).has_value());
  Reply(4);
  EXPECT_THAT(changed_, ElementsAre(Code::kOk, Code::kOk, Code::kOk, Code::kOk));
  Get("c");
  EXPECT_EQ(LastRead(), "3") << "it is known without asking";
  Set("e", "1");
  EXPECT_EQ(Asked<v1::StoreSet>().number(), 5);
}

TEST_F(StoreBatchTest, WhereOneCannotBeMadeTheyGoOneByOne) {
  AskFor("a", {"b"});
  PutNew("c", "3");
  Reply(1);
  Asked<v1::StoreBatch>();
  Set("later", "1");
  Fail(Code::kAlreadyExists);
  EXPECT_EQ(Asked<v1::StoreSet>().number(), 4) << "the batch has used up two";
  Reply(2);
  EXPECT_EQ(Asked<v1::StoreCompareAndSet>().key(), "c");
  Reply(2, "another's");
  Get("c");
  EXPECT_EQ(LastRead(), "another's");
  EXPECT_EQ(Asked<v1::StoreSet>().key(), "later");
  EXPECT_THAT(changed_, ElementsAre(Code::kOk, Code::kOk, Code::kOk));
}

TEST_F(StoreBatchTest, ThatWasPerhapsNotHeardGoesAgainAsItWas) {
  AskFor("a", {"b", "c"});
  Reply(1);
  EXPECT_EQ(Asked<v1::StoreBatch>().edits_size(), 2);
  Disconnect();
  Set("d", "1");
  Connect();  // nothing is known about the new connection yet
  const auto again = Asked<v1::StoreBatch>();
  EXPECT_EQ(again.number(), 2);
  EXPECT_EQ(again.edits_size(), 2);
  Reply(3);
  EXPECT_EQ(Asked<v1::StoreSet>().number(), 4);
}

TEST_F(StoreBatchTest, HoldsEachKeyOnceAndNothingThatNeedsAnAnswerOfItsOwn) {
  AskFor("a", {"b", "c", "b"});
  Reply(1);
  EXPECT_EQ(Asked<v1::StoreBatch>().edits_size(), 2);
  Add("n", 1);
  Reply(3);
  EXPECT_EQ(Asked<v1::StoreSet>().key(), "b") << "alone, for a sum follows";
  Reply(4);
  EXPECT_EQ(Asked<v1::StoreAdd>().key(), "n");
}

TEST_F(StoreBatchTest, HasALimit) {
  AskFor("a", {});
  for (int i = 0; i < kMaxStoreEdits + 2; ++i) Set(absl::StrCat("k", i), "1");
  for (int i = 0; i < 5; ++i) Set(absl::StrCat("large", i), std::string(kMaxStoreValueBytes, 'v'));
  Reply(1);
  EXPECT_EQ(Asked<v1::StoreBatch>().edits_size(), kMaxStoreEdits);
  Reply(2);
  const auto next = Asked<v1::StoreBatch>();
  EXPECT_EQ(next.edits(0).key(), absl::StrCat("k", kMaxStoreEdits));
  EXPECT_LT(next.ByteSizeLong(), 256 * 1024);
}

TEST_F(StoreBatchTest, ARoundsEndIsSentToAllOfIt) {
  AskFor("a", {"b", "c"});
  Reply(1);
  Asked<v1::StoreBatch>();
  Fail(Code::kFailedPrecondition);
  EXPECT_THAT(changed_, ElementsAre(Code::kOk, Code::kFailedPrecondition, Code::kFailedPrecondition));
  Begin(2);
  Set("x", "1");
  EXPECT_EQ(Asked<v1::StoreSet>().number(), 4);
}

TEST_F(StoreBatchTest, ManyReadsAreUnderWayAtOnce) {
  for (int i = 0; i < 200; ++i) Wait(absl::StrCat("k", i), absl::Seconds(5));
  EXPECT_THAT(sends_, SizeIs(200));
  EXPECT_EQ(Asked<v1::StoreWait>().limit_ms(), 5000) << "none has to wait for its turn";
}

// In a large job, the agents' shared limit is reached if each of them waits for many keys.
TEST_F(StoreBatchTest, WaitsThatFindNoRoomAreAskedForAgain) {
  Wait("k", absl::Seconds(5));
  Asked<v1::StoreWait>();
  Fail(Code::kResourceExhausted);
  EXPECT_THAT(sends_, IsEmpty()) << "not at once";
  Set("x", "1");
  EXPECT_EQ(Asked<v1::StoreSet>().key(), "x") << "nothing else waits for that";
  Reply(1);
  Pass(absl::Seconds(1));
  Asked<v1::StoreWait>();
  Reply(2, "here");
  EXPECT_EQ(LastRead(), "here");
}

}  // namespace
}  // namespace muster::agent
