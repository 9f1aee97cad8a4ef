// The latest nodes that have left a run are remembered, regardless of their names.
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "scheduler/core/context/evolve.h"
#include "scheduler/core/context/snapshot.h"

namespace muster::scheduler {
namespace {

constexpr uint64_t kFirstIncarnation = 1'000'000;

class DeparturesTest : public testing::Test {
 protected:
  DeparturesTest() {
    v1::Record record;
    record.mutable_run_opened()->set_job_id("j");
    record.mutable_run_opened()->set_run(1);
    Evolve(state_, record);
  }
  // The later a node comes, the smaller are its name and its incarnation.
  static std::string Name(int number) { return absl::StrFormat("n%05d", 99'999 - number); }
  static uint64_t Incarnation(int number) { return kFirstIncarnation - static_cast<uint64_t>(number); }

  void ComeAndGo(int number) {
    v1::Record joins;
    v1::NodeJoined& joined = *joins.mutable_node_joined();
    joined.set_job_id("j");
    joined.set_run(1);
    joined.set_node_id(Name(number));
    joined.set_incarnation(Incarnation(number));
    joined.mutable_info()->add_slots();
    Evolve(state_, joins);
    v1::Record leaves;
    v1::NodeRemoved& removed = *leaves.mutable_node_removed();
    removed.set_job_id("j");
    removed.set_run(1);
    removed.set_node_id(Name(number));
    removed.set_incarnation(Incarnation(number));
    removed.set_why(v1::NodeRemoved::LEFT);
    Evolve(state_, leaves);
  }
  void ExpectRemembered(int from, int until) {
    const scheduler::Run& run = *state_.FindRun("j", 1);
    EXPECT_EQ(run.record().gone.size(), kMaxGoneNodes);
    EXPECT_EQ(run.record().removed.size(), kMaxGoneNodes);
    EXPECT_LE(run.gone_runtimes.size(), kMaxGoneNodes);
    EXPECT_LE(run.removed_runtimes.size(), kMaxGoneNodes);
    for (int number = from; number < until; ++number) {
      EXPECT_TRUE(run.record().gone.contains(Name(number))) << number;
      EXPECT_TRUE(run.record().removed.contains(Incarnation(number))) << number;
    }
  }

  State state_;
};

constexpr int kMost = static_cast<int>(kMaxGoneNodes);

TEST_F(DeparturesTest, TheOldestIsForgotten) {
  for (int number = 0; number < kMost + 10; ++number) ComeAndGo(number);
  ExpectRemembered(10, kMost + 10);
}

TEST_F(DeparturesTest, ASnapshotKeepsTheirOrder) {
  for (int number = 0; number < kMost; ++number) ComeAndGo(number);
  state_ = FromSnapshot(Complete(DraftSnapshot(state_)));
  for (int number = kMost; number < kMost + 10; ++number) ComeAndGo(number);
  ExpectRemembered(10, kMost + 10);
}

TEST_F(DeparturesTest, ASnapshotNamesTheReplacedNode) {
  ComeAndGo(1);
  ComeAndGo(2);
  Edit(*state_.FindRun("j", 1)).gone.at(Name(1)).was_replaced = true;
  State read = FromSnapshot(Complete(DraftSnapshot(state_)));
  EXPECT_TRUE(read.FindRun("j", 1)->record().gone.at(Name(1)).was_replaced);
  EXPECT_FALSE(read.FindRun("j", 1)->record().gone.at(Name(2)).was_replaced);
}

}  // namespace
}  // namespace muster::scheduler
