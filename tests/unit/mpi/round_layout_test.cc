#include "worker_agent/gateway/chassis/round_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/net/peer_node.h"

namespace muster::agent {
namespace {

GatewayRound Round(std::vector<std::vector<uint32_t>> ranks_of, std::vector<uint32_t> machine_of) {
  v1::PeerList peers;
  for (size_t i = 0; i < ranks_of.size(); ++i) {
    v1::PeerNode& node = *peers.add_nodes();
    node.set_node_id("n" + std::to_string(i));
    node.set_host_name("host");
    node.set_machine(machine_of[i]);
    node.set_role(v1::ROLE_WORKER);
    for (size_t slot = 0; slot < ranks_of[i].size(); ++slot) node.add_ring_ports(0);
    SetRanks(ranks_of[i], node);
  }
  GatewayRound round;
  round.run = 1;
  round.round = 1;
  round.node_id = "n1";
  round.assignment.set_role(v1::ROLE_WORKER);
  round.peers = std::make_shared<const v1::PeerList>(peers);
  return round;
}

TEST(RoundLayout, AgentsOfOneMachineHaveOneHost) {
  const auto layout = LayoutOf(Round({{0, 1}, {2}, {3}}, {0, 0, 1}));
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->own, 1u);
  EXPECT_EQ(layout->size(), 4u);
  EXPECT_EQ(layout->id.size(), 16u);
  GatewayRound beside = Round({{0, 1}, {2}, {3}}, {0, 0, 1});
  EXPECT_EQ(LayoutOf(beside)->id, layout->id);
  v1::PeerList peers = *beside.peers;
  peers.mutable_nodes(2)->set_ring_ports(0, 7);
  beside.peers = std::make_shared<const v1::PeerList>(peers);
  EXPECT_NE(LayoutOf(beside)->id, layout->id);
  EXPECT_EQ(layout->machines, 2u);
  EXPECT_EQ(layout->agents[0].host, layout->agents[1].host);
  EXPECT_NE(layout->agents[0].host, layout->agents[2].host);
  EXPECT_THAT(layout->MachineOfRank(), testing::ElementsAre(0, 0, 0, 1));
}

TEST(RoundLayout, WhatCantBeServed) {
  GatewayRound round = Round({{0}, {1}}, {0, 1});
  round.peers = nullptr;
  EXPECT_FALSE(LayoutOf(round).ok());
  round = Round({{0}, {1}}, {0, 1});
  round.assignment.set_role(v1::ROLE_SERVER);
  EXPECT_FALSE(LayoutOf(round).ok());
  round.node_id = "other";
  round.assignment.set_role(v1::ROLE_WORKER);
  EXPECT_FALSE(LayoutOf(round).ok());
  EXPECT_FALSE(LayoutOf(Round({{0}, {0}}, {0, 1})).ok());
  EXPECT_FALSE(LayoutOf(Round({{0}, {7}}, {0, 1})).ok());
  EXPECT_FALSE(LayoutOf(Round({{0}, {1}}, {0, 4'000'000'000})).ok());
}

}  // namespace
}  // namespace muster::agent
