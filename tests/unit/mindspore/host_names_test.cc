#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/gateway/mindspore/gateway.h"

namespace muster::agent {
namespace {

using testing::ElementsAre;

void AddNode(v1::PeerList& peers, uint32_t machine, const std::string& host, std::vector<uint32_t> ranks,
             v1::Role role = v1::ROLE_WORKER) {
  v1::PeerNode& node = *peers.add_nodes();
  node.set_machine(machine);
  node.set_host_name(host);
  node.set_role(role);
  for (const uint32_t rank : ranks) {
    node.add_ranks(rank);
    node.add_ring_ports(0);
  }
}

TEST(HostNamesTest, TwoMachinesOfOneName) {
  v1::PeerList peers;
  peers.set_worker_num(4);
  AddNode(peers, 0, "node", {0, 1});
  AddNode(peers, 1, "node", {2, 3});
  EXPECT_THAT(NamesOfRanks(peers, v1::ROLE_WORKER, 0, "node"), ElementsAre("node", "node", "node~1", "node~1"));
  // Each machine keeps its own name, which its processes know.
  EXPECT_THAT(NamesOfRanks(peers, v1::ROLE_WORKER, 1, "node"), ElementsAre("node~0", "node~0", "node", "node"));
}

TEST(HostNamesTest, TwoNamesOfOneMachine) {
  v1::PeerList peers;
  peers.set_worker_num(3);
  AddNode(peers, 0, "container-a", {0});
  AddNode(peers, 0, "container-b", {1});
  AddNode(peers, 1, "other", {2});
  EXPECT_THAT(NamesOfRanks(peers, v1::ROLE_WORKER, 0, "container-b"),
              ElementsAre("container-b", "container-b", "other"));
  EXPECT_THAT(NamesOfRanks(peers, v1::ROLE_WORKER, 1, "other"), ElementsAre("container-a", "container-a", "other"));
}

TEST(HostNamesTest, RolesHaveTheirOwnRanks) {
  v1::PeerList peers;
  peers.set_worker_num(1);
  peers.set_server_num(1);
  AddNode(peers, 0, "w", {0});
  AddNode(peers, 1, "s", {0}, v1::ROLE_SERVER);
  EXPECT_THAT(NamesOfRanks(peers, v1::ROLE_WORKER, 0, "w"), ElementsAre("w"));
  EXPECT_THAT(NamesOfRanks(peers, v1::ROLE_SERVER, 0, "w"), ElementsAre("s"));
}

}  // namespace
}  // namespace muster::agent
