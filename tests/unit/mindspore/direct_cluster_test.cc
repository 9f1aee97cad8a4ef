#include "scheduler/mindspore/direct_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using mindspore::LeaveResult;
using mindspore::TopologyState;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class DirectClusterTest : public testing::Test {
 protected:
  void Make(uint32_t workers, bool has_recovery = false, uint32_t servers = 0) {
    DirectOptions options;
    options.worker_num = workers;
    options.server_num = servers;
    options.enable_recovery = has_recovery;
    cluster_.emplace(options);
  }

  static mindspore::Peer At(uint64_t connection, const std::string& address = "10.0.0.1") {
    mindspore::Peer peer;
    peer.connection = connection;
    peer.address = *IpAddress::Parse(address);
    return peer;
  }

  mindspore::Admission Register(const mindspore::Peer& peer, const std::string& id,
                                const std::string& role = "MS_WORKER", const std::string& host = "host") {
    mindspore::Registration registration;
    registration.set_node_id(id);
    registration.set_role(role);
    registration.set_host_name(host);
    return cluster_->Register(peer, registration, now_);
  }

  TopologyState StateOf(uint64_t connection, const std::string& id) {
    const auto health = cluster_->Heartbeat(At(connection), id, now_);
    return health ? health->state : TopologyState::kFinished;
  }

  uint32_t AbnormalAt(uint64_t connection, const std::string& id) {
    return cluster_->Heartbeat(At(connection), id, now_)->abnormal;
  }

  void Pass(absl::Duration time) {
    now_ = now_ + time;
    cluster_->Tick(now_);
  }

  // As a process that dies: both connections.
  void Die(uint64_t heart, uint64_t data) {
    cluster_->ConnectionClosed(At(heart), now_);
    cluster_->ConnectionClosed(At(data), now_);
  }

  std::optional<DirectCluster> cluster_;
  MonotonicTime now_ = MonotonicTime::FromNanoseconds(1'000'000'000);
};

TEST_F(DirectClusterTest, CompleteWhenAllAreThere) {
  Make(2);
  EXPECT_EQ(Register(At(1), "1").rank, 1U);
  EXPECT_EQ(StateOf(1, "1"), TopologyState::kInitializing);
  EXPECT_EQ(cluster_->HostNames("MS_WORKER"), std::nullopt);
  EXPECT_EQ(cluster_->Unregister(At(1), "1"), LeaveResult::kNotInitialized);
  EXPECT_EQ(Register(At(2), "0").rank, 0U);
  EXPECT_EQ(StateOf(1, "1"), TopologyState::kInitialized);
  EXPECT_EQ(cluster_->Published("MS_WORKER1"), "1");
  EXPECT_THAT(*cluster_->HostNames("MS_WORKER"), ElementsAre("host", "host"));
}

TEST_F(DirectClusterTest, NamesAreSortedByAddressThenText) {
  Make(4);
  Register(At(1, "10.0.0.10"), "a");
  Register(At(2, "10.0.0.9"), "n9");
  Register(At(3, "10.0.0.9"), "n10");
  Register(At(4, "10.0.0.9"), "z");
  EXPECT_EQ(cluster_->Published("MS_WORKERn10"), "0") << "as text, 10 sorts before 9";
  EXPECT_EQ(cluster_->Published("MS_WORKERn9"), "1");
  EXPECT_EQ(cluster_->Published("MS_WORKERz"), "2");
  EXPECT_EQ(cluster_->Published("MS_WORKERa"), "3") << "addresses are compared as numbers";
}

TEST_F(DirectClusterTest, RefusesWithAReason) {
  Make(2);
  ASSERT_TRUE(Register(At(1), "1").is_admitted);
  EXPECT_THAT(Register(At(2), "01").reason, HasSubstr("\"01\" and \"1\" both mean rank 1"));
  EXPECT_THAT(Register(At(2), "2").reason, HasSubstr("out of range"));
  EXPECT_THAT(Register(At(2), "name").reason, HasSubstr("mix numbers with names"));
  EXPECT_THAT(Register(At(2), "1").reason, HasSubstr("in use by a process at 10.0.0.1"));
  EXPECT_THAT(Register(At(2), "0", "MS_PSERVER").reason, HasSubstr("not part of this cluster"));
  EXPECT_THAT(Register(At(2), "", "MS_WORKER").reason, HasSubstr("1 to 128 bytes"));
  ASSERT_TRUE(Register(At(2), "0").is_admitted);
  EXPECT_THAT(Register(At(3), "5").reason, HasSubstr("one too many"));
}

TEST_F(DirectClusterTest, ACertificateIsGoodForItsOwnIdOnly) {
  Make(2);
  mindspore::Peer zero = At(1);
  mindspore::Peer one = At(2);
  zero.name = PeerName{PeerName::Kind::kNode, "t", "*", "0"};
  one.name = PeerName{PeerName::Kind::kNode, "t", "*", "1"};
  EXPECT_THAT(Register(one, "0").reason, HasSubstr("node/1, but MS_NODE_ID is \"0\""));
  EXPECT_TRUE(Register(zero, "0").is_admitted);
  EXPECT_TRUE(Register(one, "1").is_admitted);
  EXPECT_EQ(cluster_->Heartbeat(one, "0", now_), std::nullopt);
  EXPECT_EQ(cluster_->Unregister(one, "0"), LeaveResult::kUnknownNode);
  EXPECT_EQ(cluster_->Heartbeat(zero, "0", now_)->state, TopologyState::kInitialized);
  EXPECT_EQ(cluster_->Unregister(zero, "0"), LeaveResult::kDone);
  mindspore::Peer host = At(3);
  host.name = PeerName{PeerName::Kind::kHost, "t", "*", "h"};
  EXPECT_EQ(cluster_->Unregister(host, "1"), LeaveResult::kDone) << "a host's certificate is good for all of its nodes";
}

TEST_F(DirectClusterTest, ADeathIsToldAfterTwoSeconds) {
  Make(2);
  Register(At(1), "0");
  Register(At(2), "1");
  cluster_->TakeNotes();
  Die(2, 12);
  Pass(absl::Seconds(1.9));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  Pass(absl::Seconds(0.2));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
  EXPECT_THAT(cluster_->TakeNotes(), Contains(Pair(LogLevel::kError, HasSubstr("rank 1"))));
}

TEST_F(DirectClusterTest, WithRecoveryNobodyIsToldAndItMayReturn) {
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

TEST_F(DirectClusterTest, WithoutHeartbeatsItIsNoDeath) {
  Make(2);
  Register(At(1), "0");
  Register(At(2), "1");
  cluster_->ConnectionClosed(At(2), now_);  // alone: MS_DISABLE_HEARTBEAT=1
  for (int i = 0; i < 36; ++i) {
    Pass(absl::Seconds(100));
    EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  }
}

TEST_F(DirectClusterTest, SilenceIsADeath) {
  Make(1);
  Register(At(1), "0");
  Pass(absl::Seconds(599));
  EXPECT_EQ(AbnormalAt(1, "0"), 0U);
  Pass(absl::Seconds(601));
  EXPECT_EQ(AbnormalAt(1, "0"), 1U);
}

TEST_F(DirectClusterTest, WhoGoesBeforeItIsCompleteMakesRoom) {
  Make(2);
  Register(At(1), "0");
  cluster_->ConnectionClosed(At(1), now_);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(Register(At(2), "0").is_admitted);
  EXPECT_EQ(StateOf(2, "0"), TopologyState::kInitializing);
}

TEST_F(DirectClusterTest, NotFormedInTime) {
  Make(2);
  Register(At(1), "0");
  cluster_->TakeNotes();
  for (int i = 0; i < 19; ++i) {
    cluster_->Heartbeat(At(1), "0", now_);
    Pass(absl::Seconds(100));
  }
  EXPECT_EQ(StateOf(1, "0"), TopologyState::kFailed);
  EXPECT_THAT(cluster_->TakeNotes(), Contains(Pair(LogLevel::kError, HasSubstr("1 of 2 workers"))));
}

TEST_F(DirectClusterTest, AfterAnEndTheNextClusterForms) {
  Make(1);
  Register(At(1), "0");
  EXPECT_EQ(cluster_->Unregister(At(1), "nobody"), LeaveResult::kUnknownNode);
  EXPECT_EQ(cluster_->Unregister(At(1), "0"), LeaveResult::kDone);
  EXPECT_EQ(cluster_->Unregister(At(1), "0"), LeaveResult::kDone) << "asked again";
  EXPECT_EQ(cluster_->generation(), 2U);
  EXPECT_TRUE(Register(At(2), "0").is_admitted);
}

TEST_F(DirectClusterTest, MachinesOfOneName) {
  Make(2);
  Register(At(1, "10.0.0.1"), "0");
  Register(At(2, "10.0.0.2"), "1");
  const auto names = *cluster_->HostNames("MS_WORKER");
  ASSERT_EQ(names.size(), 2U);
  EXPECT_NE(names[0], names[1]);
}

TEST_F(DirectClusterTest, RolesHaveTheirOwnRanks) {
  Make(1, false, 1);
  EXPECT_EQ(Register(At(1), "w").rank, 0U);
  EXPECT_EQ(Register(At(2), "s", "MS_SERVER").rank, 0U);
  EXPECT_EQ(StateOf(1, "w"), TopologyState::kInitialized);
  EXPECT_EQ(cluster_->Published("MS_PSERVERs"), "0");
}

}  // namespace
}  // namespace muster::scheduler
