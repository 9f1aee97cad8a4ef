#include <gtest/gtest.h>

#include "common/base/bytes.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"
#include "tests/unit/mpi/sample_layout.h"
#include "worker_agent/gateway/mpi/pmix/asked_of_agents.h"

namespace muster::agent {
namespace {

std::string Entry(uint32_t rank, const std::string& put) { return LengthText(rank) + LengthText(put.size()) + put; }

class DirectModexTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Only(DirectModex& modex) {
    const auto answers = modex.TakeAll();
    return answers.size() == 1 ? answers[0].put : absl::InternalError("no answer");
  }
  ManualClock clock_;
  MemoryJobStore store_{clock_};
  DirectModex first_{SampleLayout(2, 2, 0), store_, clock_, std::make_shared<Poller>()};
  DirectModex second_{SampleLayout(2, 2, 1), store_, clock_, std::make_shared<Poller>()};
};

TEST_F(DirectModexTest, ARankFindsWhatAnotherHasPut) {
  first_.Ask(3);
  EXPECT_TRUE(first_.TakeAll().empty());
  second_.Give(Entry(2, "two") + Entry(3, std::string("a\0b", 3)));
  EXPECT_EQ(*Only(first_), std::string("a\0b", 3));
  first_.Ask(2);
  EXPECT_EQ(*Only(first_), "two");
}

TEST_F(DirectModexTest, NoWaitLastsForEver) {
  first_.Ask(2);
  for (int i = 0; i < 12; ++i) {
    clock_.Advance(absl::Seconds(5));
    store_.Tick();
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(Only(first_).status()));
}

TEST_F(DirectModexTest, WhatIsNotThereIsSaid) {
  first_.Ask(4);
  EXPECT_FALSE(Only(first_).ok());
  second_.Give(Entry(2, "two"));
  first_.Ask(3);
  EXPECT_TRUE(absl::IsNotFound(Only(first_).status()));
}

TEST_F(DirectModexTest, DamagedBundlesAreRefused) {
  const std::string whole = Entry(2, "two") + Entry(3, "three");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(PutBy(3, whole.substr(0, size)).ok()) << size;
  EXPECT_EQ(*PutBy(3, whole), "three");
}

}  // namespace
}  // namespace muster::agent
