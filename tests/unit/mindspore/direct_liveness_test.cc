#include "tests/unit/mindspore/direct_cluster_fixture.h"

namespace muster::scheduler {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using DirectLivenessTest = DirectClusterFixture;

TEST_F(DirectLivenessTest, ADeathIsReportedAfterTwoSeconds) {
  Make(2);
  Register(At(1), "0");
  Register(At(2), "1");
  cluster_->TakeNotes();
  Die(2, 12);
  Pass(absl::Seconds(1.9));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  Pass(absl::Seconds(0.2));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
  EXPECT_THAT(cluster_->TakeNotes(), Contains(IsNote(Severity::kError, "rank 1")));
}

TEST_F(DirectLivenessTest, AProcessThatEndsAfterwardsIsNotCalledDead) {
  Make(2);
  Register(At(1), "0");
  Register(At(2), "1");
  Die(2, 12);
  Pass(absl::Seconds(3));
  cluster_->TakeNotes();
  Die(1, 11);
  Pass(absl::Seconds(3));
  EXPECT_THAT(cluster_->TakeNotes(), ElementsAre(IsNote(Severity::kInfo, "rank 0 (MS_WORKER")));
}

TEST_F(DirectLivenessTest, WithRecoveryNoProcessIsNotifiedAndItMayReturn) {
  Make(2, true);
  Register(At(1), "0");
  Register(At(2), "1");
  Die(2, 12);
  Pass(absl::Seconds(60));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U) << "never while a replacement is awaited";
  const auto again = Register(At(3), "1");
  EXPECT_TRUE(again.is_admitted);
  EXPECT_EQ(again.rank, 1U);
}

TEST_F(DirectLivenessTest, WithoutHeartbeatsItIsNoDeath) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1");
  cluster_->ConnectionClosed(At(2), now_);  // only process 1 has MS_DISABLE_HEARTBEAT=1
  for (int i = 0; i < 36; ++i) {
    Pass(absl::Seconds(100));
    EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  }
  cluster_->ConnectionClosed(At(12), now_);
  Pass(absl::Seconds(1.9));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  Pass(absl::Seconds(0.2));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U) << "it has no connection any more";
}

TEST_F(DirectLivenessTest, OnceALongClusterEndsWellItIsNotCalledNeverFormed) {
  Make(1, false, 0, true);
  Pass(absl::Seconds(1));
  Come(1, 11, "0");
  Beat(1, "0", 3);
  for (int i = 0; i < 60; ++i) {
    Pass(absl::Minutes(1));
    Beat(1, "0", 1);
  }
  EXPECT_EQ(cluster_->Unregister(At(1), "0"), LeaveResult::kDone);
  cluster_->TakeNotes();
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(cluster_->TakeEnd(), std::nullopt) << "its connections are still open";
  EXPECT_THAT(cluster_->TakeNotes(), testing::IsEmpty());
  Die(1, 11);
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(cluster_->TakeEnd(), DirectEnd::kWell);
}

TEST_F(DirectLivenessTest, SilenceIsADeath) {
  Make(1);
  Register(At(1), "0");
  Pass(absl::Seconds(599));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  Pass(absl::Seconds(601));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
}

TEST_F(DirectLivenessTest, AProcessThatLeavesBeforeItIsCompleteMakesRoom) {
  Make(2);
  Register(At(1), "0");
  cluster_->ConnectionClosed(At(1), now_);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(Register(At(2), "0").is_admitted);
  EXPECT_EQ(StateOf(2, "0"), TopologyState::kInitializing);
}

TEST_F(DirectLivenessTest, NotFormedInTime) {
  Make(2);
  Register(At(1), "0");
  cluster_->TakeNotes();
  for (int i = 0; i < 19; ++i) {
    cluster_->Heartbeat(At(1), "0", now_);
    Pass(absl::Seconds(100));
  }
  EXPECT_EQ(StateOf(1, "0"), TopologyState::kFailed);
  EXPECT_THAT(cluster_->TakeNotes(), Contains(IsNote(Severity::kError, "1 of 2 workers")));
}

TEST_F(DirectLivenessTest, AfterAnEndTheNextClusterForms) {
  Make(1);
  Register(At(1), "0");
  EXPECT_EQ(cluster_->Unregister(At(1), "nobody"), LeaveResult::kUnknownNode);
  EXPECT_EQ(cluster_->Unregister(At(1), "0"), LeaveResult::kDone);
  EXPECT_EQ(cluster_->Unregister(At(1), "0"), LeaveResult::kDone) << "asked again";
  EXPECT_EQ(cluster_->generation(), 2U);
  EXPECT_TRUE(Register(At(2), "0").is_admitted);
}

// The process never had a metadata connection; the other process on its host has one.
TEST_F(DirectLivenessTest, AProcessThatDiesBeforeItsSecondConnectionIsDead) {
  Make(2);
  cluster_->ConnectionOpened(At(1));
  cluster_->ConnectionOpened(At(2));
  Register(At(1), "0");
  Register(At(2), "1");
  cluster_->ConnectionOpened(At(11));
  cluster_->ServesMetadata(At(11), mindspore::MetadataUse::kAsk, "x");
  cluster_->ConnectionClosed(At(2), now_);
  Pass(absl::Seconds(1));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  Pass(absl::Seconds(1));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
}

TEST_F(DirectLivenessTest, SomebodyElsesConnectionOfThatHostMayClose) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1");
  cluster_->ConnectionOpened(At(13));
  cluster_->ConnectionClosed(At(2), now_);
  cluster_->ConnectionClosed(At(13), now_);
  for (int i = 0; i < 10; ++i) {
    Pass(absl::Seconds(1));
    EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  }
}

// A process that sends heartbeats does not count as a silent one. An idle connection of another process does not keep
// it alive.
TEST_F(DirectLivenessTest, AProcessWithHeartbeatsIsDeadWhenBothConnectionsCloseTogether) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1");
  cluster_->ConnectionOpened(At(13));
  Beat(2, "1", 10);
  Die(2, 12);
  Pass(absl::Seconds(2));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
}

TEST_F(DirectLivenessTest, AProcessWhoseHeartbeatsStopIsDeadAfterTheNodeTimeout) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1");
  Beat(2, "1", 10);
  cluster_->ConnectionClosed(At(2), now_);
  Pass(absl::Seconds(590));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);  // (it sends heartbeats, too)
  Pass(absl::Seconds(11));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
}

TEST_F(DirectLivenessTest, AConnectionsMessagesIdentifyItsProcess) {
  Make(3);
  Come(1, 11, "0");
  Come(2, 12, "1");
  Come(3, 13, "2");
  cluster_->ServesMetadata(At(12), mindspore::MetadataUse::kWrite, "MCCL_COLLECTIVE_RANK_MS_WORKER_1");
  cluster_->ServesMetadata(At(13), mindspore::MetadataUse::kAsk, "MS_WORKER2");
  cluster_->ConnectionClosed(At(2), now_);
  cluster_->ConnectionClosed(At(3), now_);
  Pass(absl::Seconds(30));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U) << "both live on";
  cluster_->ConnectionOpened(At(14));  // belongs to no process
  cluster_->ConnectionOpened(At(15));
  cluster_->ConnectionClosed(At(13), now_);
  cluster_->ConnectionClosed(At(14), now_);
  cluster_->ConnectionClosed(At(15), now_);
  cluster_->TakeNotes();
  Pass(absl::Seconds(3));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
  EXPECT_THAT(cluster_->TakeNotes(), Contains(IsNote(Severity::kError, "rank 2")));
}

TEST_F(DirectLivenessTest, TwoQuietOnesOfOneHostDieAndTheNextClusterForms) {
  Make(2);
  Come(1, 11, "a");
  Come(2, 12, "b");
  cluster_->ConnectionClosed(At(1), now_);
  cluster_->ConnectionClosed(At(2), now_);
  Pass(absl::Seconds(4));
  EXPECT_EQ(cluster_->generation(), 1U);
  cluster_->ConnectionClosed(At(11), now_);
  cluster_->ConnectionClosed(At(12), now_);
  Pass(absl::Seconds(3));
  EXPECT_EQ(cluster_->generation(), 2U);
  EXPECT_TRUE(Come(3, 13, "c").is_admitted);
}

TEST_F(DirectLivenessTest, OneConnectionOfTwoIdsIsTheEndOfBoth) {
  Make(2);
  Register(At(1), "0");
  Register(At(1), "1");
  cluster_->ConnectionClosed(At(1), now_);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(Register(At(2), "0").is_admitted);
  EXPECT_TRUE(Register(At(3), "1").is_admitted);
}

TEST_F(DirectLivenessTest, WithRecoveryAllGoneAndNewIdsComeIsANewCluster) {
  Make(2, true);
  Come(1, 11, "uuid-a");
  Come(2, 12, "uuid-b");
  Die(1, 11);
  Pass(absl::Seconds(3));
  EXPECT_THAT(Come(5, 15, "uuid-x").reason, HasSubstr("one too many")) << "one still lives";
  cluster_->ConnectionClosed(At(5), now_);
  cluster_->ConnectionClosed(At(15), now_);
  Die(2, 12);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(Come(3, 13, "uuid-c").is_admitted);
  EXPECT_TRUE(Come(4, 14, "uuid-d").is_admitted);
  EXPECT_EQ(StateOf(3, "uuid-c"), TopologyState::kInitialized);
  EXPECT_EQ(cluster_->generation(), 2U);
}

TEST_F(DirectLivenessTest, WithRecoveryAllMayReturn) {
  Make(2, true);
  Come(1, 11, "0");
  Come(2, 12, "1");
  Die(1, 11);
  Die(2, 12);
  Pass(absl::Seconds(30));
  EXPECT_EQ(Come(3, 13, "1").rank, 1U);
  EXPECT_EQ(StateOf(3, "1"), TopologyState::kInitialized);
  EXPECT_EQ(cluster_->generation(), 1U);
}

TEST_F(DirectLivenessTest, WithRecoveryNoProcessIsWaitedForForEver) {
  Make(2, true);
  Come(1, 11, "0");
  Come(2, 12, "1");
  Die(2, 12);
  Pass(absl::Seconds(3));
  cluster_->TakeNotes();
  Pass(absl::Seconds(101));
  EXPECT_EQ(StateOf(1, "0"), TopologyState::kFailed);
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
  EXPECT_THAT(cluster_->TakeNotes(), Contains(IsNote(Severity::kError, "--rejoin_timeout")));
  EXPECT_FALSE(Come(3, 13, "1").is_admitted);
  Die(3, 13);
  Die(1, 11);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(Come(4, 14, "1").is_admitted);
  EXPECT_EQ(cluster_->generation(), 2U);
}

TEST_F(DirectLivenessTest, AProcessThatHasLeftMayAskAgainUntilTheEndOfTheNextCluster) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1");
  cluster_->Unregister(At(1), "0");
  cluster_->Unregister(At(2), "1");
  Come(3, 13, "a");
  EXPECT_EQ(cluster_->Unregister(At(1), "0"), LeaveResult::kDone);
  Come(4, 14, "b");
  cluster_->Unregister(At(3), "a");
  cluster_->Unregister(At(4), "b");
  EXPECT_EQ(cluster_->Unregister(At(4), "b"), LeaveResult::kDone);
  EXPECT_NE(cluster_->Unregister(At(1), "0"), LeaveResult::kDone) << "ids are not kept for ever";
}

TEST_F(DirectLivenessTest, EndsForOnce) {
  Make(1, false, 0, true);
  Come(1, 11, "0");
  Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_->TakeEnd(), std::nullopt);
  cluster_->Unregister(At(1), "0");
  Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_->TakeEnd(), std::nullopt) << "its connections are not closed yet";
  Die(1, 11);
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(cluster_->TakeEnd(), DirectEnd::kWell);

  Make(1, false, 0, true);
  Come(1, 11, "0");
  cluster_->Unregister(At(1), "0");
  Pass(absl::Milliseconds(1));
  Pass(absl::Seconds(11));
  EXPECT_EQ(cluster_->TakeEnd(), DirectEnd::kWell) << "no process is waited for without end";

  Make(2, false, 0, true);
  Come(1, 11, "0");
  Come(2, 12, "1");
  Pass(absl::Seconds(1));
  Die(2, 12);
  Pass(absl::Seconds(3));
  EXPECT_EQ(cluster_->TakeEnd(), std::nullopt) << "the other still needs an answer";
  Die(1, 11);
  Pass(absl::Seconds(3));
  EXPECT_EQ(cluster_->TakeEnd(), DirectEnd::kFailed);

  Make(2, false, 0, true);
  Pass(absl::Seconds(1));
  Pass(absl::Seconds(1799));
  EXPECT_EQ(cluster_->TakeEnd(), std::nullopt);
  Pass(absl::Seconds(2));
  EXPECT_EQ(cluster_->TakeEnd(), DirectEnd::kNeverFormed) << "though no process ever came";
}

TEST_F(DirectLivenessTest, AFailedClusterWhoseOthersStayEndsForOnce) {
  Make(2, false, 0, true);
  Come(1, 11, "0");
  Come(2, 12, "1");
  Die(2, 12);
  Pass(absl::Seconds(3));
  cluster_->Heartbeat(At(1), "0", now_);
  Pass(absl::Seconds(31));
  EXPECT_EQ(cluster_->TakeEnd(), DirectEnd::kFailed);
}

// To make room, a connection of a process is closed only if its host has more than its processes need.
TEST_F(DirectLivenessTest, WhichConnectionsAreNeeded) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1", "10.0.0.2");
  cluster_->ConnectionOpened(At(20, "10.0.0.3"));
  EXPECT_THAT(cluster_->Needed(), UnorderedElementsAre(1, 2, 11, 12));
  cluster_->ConnectionOpened(At(21));
  EXPECT_THAT(cluster_->Needed(), UnorderedElementsAre(1, 2, 12)) << "the owners of 11 and 21 are not known";
  cluster_->ServesMetadata(At(11), mindspore::MetadataUse::kWrite, "MCCL_COLLECTIVE_RANK_MS_WORKER_0");
  EXPECT_THAT(cluster_->Needed(), UnorderedElementsAre(1, 2, 11, 12));
}

}  // namespace
}  // namespace muster::scheduler
