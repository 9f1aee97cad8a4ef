#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/store/memory_job_store.h"
#include "worker_agent/gateway/mindspore/gateway.h"

namespace muster::agent {
namespace {

using mindspore::LeaveResult;
using testing::ElementsAre;
using testing::HasSubstr;

class SlotsTest : public testing::Test {
 protected:
  // Ranks 4 and 5 of 8, on the second machine.
  SlotsTest() { slots_.BeginRound(Round(1)); }

  static GatewayRound Round(uint32_t number, v1::Role role = v1::ROLE_WORKER) {
    GatewayRound round;
    round.run = 1;
    round.round = number;
    round.host_name = "node";
    round.assignment.set_worker_num(8);
    round.assignment.set_node_rank(1);
    round.assignment.set_role(role);
    for (const uint32_t rank : {4U, 5U}) round.assignment.add_slots()->set_rank(rank);
    auto peers = std::make_shared<v1::PeerList>();
    peers->set_worker_num(2);
    for (const uint32_t machine : {0U, 1U}) {
      v1::PeerNode& node = *peers->add_nodes();
      node.set_machine(machine);
      node.set_host_name("node");
      node.set_role(v1::ROLE_WORKER);
      node.set_first_rank(machine);
      node.add_ring_ports(0);
    }
    round.peers = peers;
    return round;
  }

  static mindspore::Peer At(uint32_t slot, uint64_t connection) {
    mindspore::Peer peer;
    peer.listener = slot;
    peer.connection = connection;
    return peer;
  }

  mindspore::Admission Register(uint32_t slot, uint64_t connection, const std::string& id,
                                const std::string& role = "MS_WORKER") {
    mindspore::Registration registration;
    registration.set_node_id(id);
    registration.set_role(role);
    return slots_.Register(At(slot, connection), registration);
  }

  MemoryJobStore store_{Clock::System()};
  MindSporeSlots slots_{store_, {}};
};

TEST_F(SlotsTest, TheSlotDecidesTheRank) {
  EXPECT_EQ(Register(0, 1, "4").rank, 4U);
  EXPECT_EQ(Register(1, 2, "some-name").rank, 5U);
  EXPECT_EQ(Register(1, 2, "some-name").nodes, 8U);
  EXPECT_EQ(slots_.Published(At(1, 3), "MS_WORKERsome-name"), "5");
  EXPECT_EQ(slots_.Published(At(1, 3), "MS_WORKER_group_info_world"), std::nullopt);
}

TEST_F(SlotsTest, HeartbeatsSayCompleteAndNeverAbnormal) {
  EXPECT_EQ(slots_.Heartbeat(At(0, 1), "4"), std::nullopt) << "not registered";
  Register(0, 1, "4");
  const auto health = slots_.Heartbeat(At(0, 1), "4");
  ASSERT_TRUE(health);
  EXPECT_EQ(health->state, mindspore::TopologyState::kInitialized);
  EXPECT_EQ(health->nodes, 8U);
  EXPECT_EQ(health->abnormal, 0U);
}

TEST_F(SlotsTest, RefusesWhatCannotBe) {
  EXPECT_THAT(Register(0, 1, "7").reason, HasSubstr("\"7\", which is no rank of this node"));
  EXPECT_THAT(Register(0, 1, "").reason, HasSubstr("1 to 128 bytes"));
  EXPECT_THAT(Register(0, 1, std::string(129, 'x')).reason, HasSubstr("1 to 128 bytes"));
  EXPECT_THAT(Register(0, 1, "99999999999999999999").reason, HasSubstr("no rank of this node"));
  EXPECT_THAT(Register(0, 1, "4", "MS_PSERVER").reason, HasSubstr("started as MS_WORKER"));
  EXPECT_THAT(Register(0, 1, "4", "").reason, HasSubstr("started as MS_WORKER"));
  EXPECT_THAT(Register(2, 1, "x").reason, HasSubstr("no rank")) << "there is no third slot";
}

TEST_F(SlotsTest, TwoIdsOfOneNumber) {
  ASSERT_TRUE(Register(0, 1, "4").is_admitted);
  EXPECT_THAT(Register(0, 2, "04").reason, HasSubstr("taken by the process with MS_NODE_ID \"4\""));
  slots_.ConnectionClosed(At(0, 1));
  EXPECT_TRUE(Register(0, 2, "04").is_admitted) << "the first one has gone";
}

TEST_F(SlotsTest, OneProcessMayComeAgain) {
  ASSERT_TRUE(Register(0, 1, "4").is_admitted);
  EXPECT_TRUE(Register(0, 2, "4").is_admitted);
}

TEST_F(SlotsTest, LeavingIsAnsweredAlikeWhenAskedAgain) {
  EXPECT_EQ(slots_.Unregister(At(0, 1), "4"), LeaveResult::kUnknownNode);
  Register(0, 1, "4");
  EXPECT_EQ(slots_.Unregister(At(0, 1), "4"), LeaveResult::kDone);
  EXPECT_EQ(slots_.Unregister(At(0, 1), "4"), LeaveResult::kDone);
}

TEST_F(SlotsTest, ARoundForgetsTheOneBefore) {
  Register(0, 1, "name");
  slots_.BeginRound(Round(1));
  EXPECT_TRUE(slots_.Heartbeat(At(0, 1), "name")) << "a process that started again within the round";
  slots_.BeginRound(Round(2));
  EXPECT_FALSE(slots_.Heartbeat(At(0, 1), "name"));
}

TEST_F(SlotsTest, NamesAndPorts) {
  Register(0, 1, "4");
  EXPECT_THAT(*slots_.HostNames(At(0, 1), "MS_WORKER"), ElementsAre("node~0", "node"));
  EXPECT_EQ(slots_.HostNames(At(0, 1), "nonsense"), std::nullopt);
  mindspore::PortRanges ranges;
  ASSERT_TRUE(ranges.ParseFromString(*slots_.Published(At(0, 1), "node_port_range")));
  EXPECT_TRUE(ranges.ranges().contains("4"));
  EXPECT_TRUE(ranges.ranges().contains("node"));
}

TEST_F(SlotsTest, ServersHaveTheirRole) {
  slots_.BeginRound(Round(2, v1::ROLE_SERVER));
  EXPECT_TRUE(Register(0, 1, "4", "MS_PSERVER").is_admitted);
  EXPECT_TRUE(Register(1, 2, "5", "MS_SERVER").is_admitted);
  EXPECT_FALSE(Register(1, 3, "5", "MS_WORKER").is_admitted);
  EXPECT_EQ(slots_.Published(At(0, 1), "MS_PSERVER4"), "4");
}

}  // namespace
}  // namespace muster::agent
