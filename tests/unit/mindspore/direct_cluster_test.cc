#include "scheduler/mindspore/direct_cluster.h"

#include "tests/unit/mindspore/direct_cluster_fixture.h"

namespace muster::scheduler {
namespace {

using mindspore::MetadataUse;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

using DirectClusterTest = DirectClusterFixture;

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
  EXPECT_THAT(Register(At(2), "1", "MS_PSERVER").reason, HasSubstr("in use"));
  EXPECT_THAT(Register(At(1), "1", "MS_PSERVER").reason, HasSubstr("registered as MS_WORKER before"));
  EXPECT_THAT(Register(At(2), "", "MS_WORKER").reason,
              HasSubstr("0 bytes; at the process, set it to a text of 1 to 128 bytes"));
  ASSERT_TRUE(Register(At(2), "0").is_admitted);
  EXPECT_THAT(Register(At(3), "5").reason, HasSubstr("one too many"));
}

TEST_F(DirectClusterTest, EachKindOfRefusalIsReportedAndCountedByItself) {
  Make(2);
  Register(At(1), "0");
  Register(At(2), "0");
  Register(At(2), "9");
  std::vector<std::string> kinds;
  for (const DirectNote& note : cluster_->TakeNotes()) kinds.push_back(note.kind);
  EXPECT_THAT(kinds, ElementsAre("MindSpore: refused, id in use", "MindSpore: refused, rank out of range"));
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
  cluster_->ConnectionClosed(one, now_);
  mindspore::Peer host = At(3);
  host.name = PeerName{PeerName::Kind::kHost, "t", "*", "h"};
  EXPECT_EQ(cluster_->Unregister(host, "1"), LeaveResult::kDone) << "a host's certificate is good for all of its nodes";
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

TEST_F(DirectClusterTest, OnlyItsOwnConnectionBeatsAndLeaves) {
  Make(2);
  Come(1, 11, "0");
  Come(2, 12, "1", "10.0.0.2");
  EXPECT_EQ(cluster_->Unregister(At(3), "0"), LeaveResult::kUnknownNode);
  EXPECT_EQ(cluster_->Unregister(At(2, "10.0.0.2"), "0"), LeaveResult::kUnknownNode);
  EXPECT_EQ(cluster_->Heartbeat(At(2, "10.0.0.2"), "0", now_), std::nullopt);
  cluster_->ConnectionClosed(At(1), now_);
  EXPECT_EQ(cluster_->Heartbeat(At(2, "10.0.0.2"), "0", now_), std::nullopt);
  EXPECT_EQ(cluster_->Unregister(At(4, "10.0.0.2"), "0"), LeaveResult::kUnknownNode);
  EXPECT_NE(cluster_->Heartbeat(At(5), "0", now_), std::nullopt) << "from its own address, it is back";
  EXPECT_EQ(cluster_->Unregister(At(5), "0"), LeaveResult::kDone);
}

TEST_F(DirectClusterTest, UnknownProcessesHaveNoMetadata) {
  Make(2);
  EXPECT_FALSE(cluster_->ServesMetadata(At(11), MetadataUse::kAsk, "x"));
  Come(1, 11, "0");
  EXPECT_TRUE(cluster_->ServesMetadata(At(11), MetadataUse::kAsk, "x"));
  EXPECT_FALSE(cluster_->ServesMetadata(At(21, "10.0.0.2"), MetadataUse::kWrite, "x"));
  EXPECT_THAT(cluster_->TakeNotes(), Contains(IsNote(Severity::kWarning, "no MindSpore process of the cluster")));
}

TEST_F(DirectClusterTest, WithTlsMetadataIsForTheCertificatesOfItsNodes) {
  Make(2);
  const auto as = [](mindspore::Peer peer, const std::string& id) {
    peer.name = PeerName{};
    peer.name->id = id;
    return peer;
  };
  ASSERT_TRUE(Register(as(At(1), "0"), "0").is_admitted);
  EXPECT_TRUE(cluster_->ServesMetadata(as(At(11), "0"), MetadataUse::kWrite, "x"));
  EXPECT_FALSE(cluster_->ServesMetadata(as(At(12), "7"), MetadataUse::kWrite, "x"));
}

}  // namespace
}  // namespace muster::scheduler
