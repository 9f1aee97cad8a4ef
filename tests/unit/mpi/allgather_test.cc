#include "worker_agent/gateway/chassis/allgather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"

namespace muster::agent {
namespace {

using Blobs = Allgather::Blobs;

class AllgatherTest : public testing::Test {
 protected:
  void Begin(uint32_t agents) {
    for (uint32_t i = 0; i < agents; ++i) agents_.emplace_back(store_, clock_, "mpi", i, agents);
    results_.assign(agents, std::nullopt);
  }
  void Start(uint32_t agent, std::string blob, absl::Duration limit = absl::Minutes(1)) {
    agents_[agent].Start(std::move(blob), limit,
                         [this, agent](absl::StatusOr<Blobs> blobs) { results_[agent] = std::move(blobs); });
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    store_.Tick();
  }
  bool HasKey(const std::string& key) {
    bool has_it = false;
    store_.Get(key, [&](const auto& value) { has_it = value.ok() && value->has_value(); });
    return has_it;
  }

  ManualClock clock_;
  std::vector<std::optional<absl::StatusOr<Blobs>>> results_;
  MemoryJobStore store_{clock_};
  std::vector<Allgather> agents_;
};

TEST_F(AllgatherTest, OneAgentHasItAtOnce) {
  Begin(1);
  Start(0, "a");
  EXPECT_THAT(**results_[0], testing::ElementsAre("a"));
}

TEST_F(AllgatherTest, AllGetAllOrderedByNode) {
  for (const uint32_t agents : {2, 3, 40}) {
    agents_.clear();
    store_.BeginRound();
    Begin(agents);
    Blobs expected;
    for (uint32_t i = 0; i < agents; ++i) expected.push_back(i == 1 ? "" : absl::StrCat("blob of ", i));
    for (uint32_t i = agents; i-- > 0;) {
      for (const auto& result : results_) EXPECT_FALSE(result.has_value());
      Start(i, expected[i]);
    }
    for (const auto& result : results_) EXPECT_EQ(**result, expected);
  }
}

TEST_F(AllgatherTest, LargeBlobsGoInPieces) {
  Begin(3);
  const Blobs expected = {std::string(kMaxStoreValueBytes - 4, 'a'), std::string(3 * kMaxStoreValueBytes, 'b'),
                          std::string(Allgather::kMaxBlobBytes, '\0')};
  for (uint32_t i = 0; i < 3; ++i) Start(i, expected[i]);
  for (const auto& result : results_) EXPECT_EQ(**result, expected);
}

TEST_F(AllgatherTest, NothingPilesUp) {
  Begin(2);
  for (int number = 0; number < 3; ++number) {
    for (uint32_t i = 0; i < 2; ++i) Start(i, absl::StrCat(number, i));
    EXPECT_THAT(**results_[1], testing::ElementsAre(absl::StrCat(number, 0), absl::StrCat(number, 1)));
    EXPECT_FALSE(HasKey(absl::StrCat("mpi/", number, "/1/0")));
    EXPECT_TRUE(HasKey(absl::StrCat("mpi/", number, "/all/0")));
    EXPECT_FALSE(HasKey(absl::StrCat("mpi/", number - 1, "/all/0")));
  }
}

TEST_F(AllgatherTest, AMissingRankIsNamed) {
  Begin(3);
  Start(0, "a", absl::Seconds(60));
  Start(1, "b", absl::Seconds(90));
  for (int i = 0; i < 13; ++i) Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_TRUE(absl::IsDeadlineExceeded(results_[0]->status()));
  EXPECT_THAT(std::string(results_[0]->status().message()), testing::HasSubstr("node 2 of 3"));
  EXPECT_FALSE(results_[1].has_value());
  for (int i = 0; i < 7; ++i) Pass(absl::Milliseconds(kMaxStoreWaitMs));
  EXPECT_TRUE(absl::IsDeadlineExceeded(results_[1]->status()));
}

TEST_F(AllgatherTest, WithoutALimitItWaitsOn) {
  Begin(2);
  Start(0, "a", absl::InfiniteDuration());
  for (int i = 0; i < 100; ++i) Pass(absl::Seconds(60));
  EXPECT_FALSE(results_[0].has_value());
  Start(1, "b");
  EXPECT_TRUE(results_[0]->ok());
}

TEST_F(AllgatherTest, TooMuchIsRefused) {
  Begin(2);
  Start(1, std::string(Allgather::kMaxBlobBytes + 1, 'a'));
  EXPECT_TRUE(absl::IsResourceExhausted(results_[1]->status()));
}

TEST_F(AllgatherTest, WhatIsNotOfAnAgentIsRefused) {
  const std::string huge = "\xff\xff\xff\x7f";
  for (const std::string& bytes : {std::string("ab"), huge, std::string("\x01\0\0\0toolong", 11)}) {
    agents_.clear();
    store_.BeginRound();
    Begin(2);
    store_.Set("mpi/0/1/0", bytes, Lifetime::kRound, [](const absl::Status&) {});
    Start(0, "a");
    EXPECT_TRUE(absl::IsInvalidArgument(results_[0]->status())) << results_[0]->status();
  }
  agents_.clear();
  Begin(2);
  store_.Set("mpi/0/all/0", std::string("\x06\0\0\0\x09\0\0\0ab", 10), Lifetime::kRound, [](const absl::Status&) {});
  Start(1, "b");
  EXPECT_TRUE(absl::IsInvalidArgument(results_[1]->status()));
}

}  // namespace
}  // namespace muster::agent
