#include "common/store/memory_job_store.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "tests/unit/common/manual_clock.h"

namespace muster {
namespace {

using Value = absl::StatusOr<std::optional<std::string>>;

class MemoryJobStoreTest : public testing::Test {
 protected:
  JobStore::ValueDone Keep() {
    return [this](const Value& value) { values_.push_back(value); };
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    store_.Tick();
  }

  ManualClock clock_;
  std::vector<Value> values_;  // must outlive the store, which ends its waits
  MemoryJobStore store_{clock_};
};

TEST_F(MemoryJobStoreTest, AWaitEndsWithTheValueOrItsTime) {
  store_.Wait("a", std::chrono::seconds(2), Keep());
  store_.Wait("b", std::chrono::seconds(2), Keep());
  store_.Set("a", "1", Lifetime::kRound, [](const absl::Status& status) { EXPECT_TRUE(status.ok()); });
  ASSERT_EQ(values_.size(), 1u);
  EXPECT_EQ(**values_[0], "1");
  Pass(absl::Seconds(1.9));
  EXPECT_EQ(values_.size(), 1u);
  Pass(absl::Seconds(0.2));
  ASSERT_EQ(values_.size(), 2u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(values_[1].status()));
}

TEST_F(MemoryJobStoreTest, AListHasTheKeysThatBeginAlikeInTheirOrderAndInPages) {
  for (const char* key : {"a", "d/2", "d/1", "d", "e"}) {
    store_.Set(key, key, Lifetime::kRound, [](const absl::Status& status) { EXPECT_TRUE(status.ok()); });
  }
  JobStore::Listing listing;
  const auto take = [&](const absl::StatusOr<JobStore::Listing>& page) { listing = *page; };
  store_.List("d/", "", 1, take);
  ASSERT_EQ(listing.entries.size(), 1u);
  EXPECT_EQ(listing.entries[0].first, "d/1");
  EXPECT_TRUE(listing.has_more);
  store_.List("d/", "d/1", 0, take);
  ASSERT_EQ(listing.entries.size(), 1u);
  EXPECT_EQ(listing.entries[0].second, "d/2");
  EXPECT_FALSE(listing.has_more);
}

TEST_F(MemoryJobStoreTest, NoWaitIsLongerThanTheLongest) {
  store_.Wait("a", std::chrono::hours(1), Keep());
  Pass(absl::Milliseconds(kMaxStoreWaitMs) - absl::Milliseconds(1));
  EXPECT_TRUE(values_.empty());
  Pass(absl::Milliseconds(2));
  ASSERT_EQ(values_.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(values_[0].status()));
}

TEST_F(MemoryJobStoreTest, OnlySoManyMayWait) {
  for (size_t i = 0; i < kMaxStoreWaits; ++i)
    store_.Wait(absl::StrCat("key", i % 100), std::chrono::seconds(1), Keep());
  EXPECT_TRUE(values_.empty());
  store_.Wait("one more", std::chrono::seconds(1), Keep());
  ASSERT_EQ(values_.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(values_[0].status()));
  // A value, or the end of a wait, makes room.
  store_.Set("key7", "1", Lifetime::kRound, [](const absl::Status&) {});
  EXPECT_EQ(values_.size(), 1 + kMaxStoreWaits / 100);
  values_.clear();
  store_.Wait("one more", std::chrono::seconds(1), Keep());
  EXPECT_TRUE(values_.empty());
  Pass(absl::Seconds(2));
  values_.clear();
  for (size_t i = 0; i < kMaxStoreWaits; ++i) store_.Wait("key", std::chrono::seconds(1), Keep());
  EXPECT_TRUE(values_.empty());
}

}  // namespace
}  // namespace muster
