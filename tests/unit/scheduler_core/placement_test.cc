#include "scheduler/core/places/placement.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

std::vector<const Node*> All(const scheduler::Run& run) {
  std::vector<const Node*> members;
  for (const auto& [id, node] : run.nodes) members.push_back(&node);
  return members;
}

// "a@0: 0/0 1/1; b@1: 2/0": nodes, machines, ranks and local ranks.
std::string Shape(const v1::PeerList& list) {
  std::string text;
  for (const v1::PeerNode& node : list.nodes()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", node.node_id(), "@", node.machine(), ":");
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      absl::StrAppend(&text, " ", RankOf(node, slot), "/", LocalRankOf(node, slot));
    }
  }
  return text;
}

TEST(BuildPeerList, LocalRanksCountPerMachineOverAllItsAgents) {
  scheduler::Run run = RunOf(5);
  AddNode(run, {.id = "0", .host = "gpu", .machine = "m1"});
  AddNode(run, {.id = "1", .host = "gpu", .machine = "m2"});
  AddNode(run, {.id = "2", .host = "gpu", .machine = "m1"});
  AddNode(run, {.id = "3", .host = "other", .machine = "m2"});
  AddNode(run, {.id = "4", .host = "gpu", .machine = "m1"});
  const v1::PeerList list = BuildPeerList(run, 1, All(run));
  EXPECT_EQ(Shape(list), "0@0: 0/0; 1@1: 1/0; 2@0: 2/1; 3@1: 3/1; 4@0: 4/2");
  EXPECT_EQ(list.machine_num(), 2u);
}

TEST(BuildPeerList, SlotsStandInSlotOrderWhateverTheirRanks) {
  scheduler::Run run = RunOf(4);
  for (const uint32_t rank : {3u, 0u}) {
    if (!run.nodes.contains("a")) AddNode(run, {.id = "a", .slots = 2, .address = "10.0.0.1"});
    Edit(run.nodes.at("a")).info.add_table_ranks(rank);
  }
  AddNode(run, {.id = "b", .slots = 2, .address = "10.0.0.2"});
  for (const uint32_t rank : {2u, 1u}) Edit(run.nodes.at("b")).info.add_table_ranks(rank);
  EXPECT_EQ(Shape(BuildPeerList(run, 1, All(run))), "a@0: 3/1 0/0; b@1: 2/1 1/0");
}

TEST(BuildPeerList, WorkersFirstMachinesOverBothRoles) {
  scheduler::Run run = RunOf(2, 2);
  AddNode(run, {.id = "s1", .host = "h3", .address = "10.0.0.3", .role = v1::ROLE_SERVER});
  AddNode(run, {.id = "s2", .host = "h2", .address = "10.0.0.2", .role = v1::ROLE_SERVER});
  AddNode(run, {.id = "w1", .host = "h2", .address = "10.0.0.2"});
  AddNode(run, {.id = "w2", .host = "h1", .address = "10.0.0.1"});
  const v1::PeerList list = BuildPeerList(run, 7, All(run));
  EXPECT_EQ(Shape(list), "w2@0: 0/0; w1@1: 1/0; s2@1: 0/0; s1@2: 1/0");
  EXPECT_EQ(list.round(), 7u);
  EXPECT_EQ(list.worker_num(), 2u);
  EXPECT_EQ(list.server_num(), 2u);
  EXPECT_EQ(list.machine_num(), 3u);
}

TEST(BuildPeerList, RelaysAreForAllOrNoneAndRank0Decides) {
  constexpr auto kOld = v1::TORCH_STORE_RELAY_UNSPECIFIED;
  constexpr auto kOff = v1::TORCH_STORE_RELAY_OFF;
  constexpr auto kOn = v1::TORCH_STORE_RELAY_ON;
  const struct {
    v1::TorchStoreRelay rank0, other;
    bool has_store, are_wanted;
  } cases[] = {{kOn, kOn, true, true},   {kOn, kOff, true, true},   {kOff, kOn, true, false}, {kOn, kOld, true, false},
               {kOld, kOn, true, false}, {kOff, kOff, true, false}, {kOn, kOn, false, false}};
  for (const auto& c : cases) {
    scheduler::Run run = RunOf(2);
    AddNode(run, {.id = "a", .address = "10.0.0.1"});
    AddNode(run, {.id = "b", .address = "10.0.0.2"});
    Edit(run.nodes.at("a")).info.set_has_torch_store(c.has_store);
    Edit(run.nodes.at("a")).info.set_torch_store_relay(c.rank0);
    Edit(run.nodes.at("b")).info.set_torch_store_relay(c.other);
    EXPECT_EQ(BuildPeerList(run, 1, All(run)).has_torch_store_relays(), c.are_wanted) << c.rank0 << c.other;
  }
}

TEST(BuildPeerList, IsTheSameByteForByteWhateverTheOrderOfMembers) {
  scheduler::Run run = RunOf(3);
  for (const char* id : {"a", "b", "c"}) AddNode(run, {.id = id, .address = std::string("10.0.0.") + id[0]});
  std::vector<const Node*> members = All(run);
  const std::string bytes = BuildPeerList(run, 1, members).SerializeAsString();
  std::reverse(members.begin(), members.end());
  EXPECT_EQ(BuildPeerList(run, 1, members).SerializeAsString(), bytes);
}

TEST(BuildPeerList, CarriesAddressesPortsAndDevices) {
  scheduler::Run run = RunOf(1);
  Node& node = AddNode(run, {.id = "a", .address = "fe80::1"});
  Edit(node).info.mutable_slots(0)->set_device_id("5");
  Edit(node).info.mutable_slots(0)->set_device_address("192.168.1.5");
  Edit(node).info.set_certificate_fingerprint("ab");
  const v1::PeerNode peer = BuildPeerList(run, 1, All(run)).nodes(0);
  EXPECT_EQ(IpAddress::FromBytes(peer.address())->ToString(), "fe80::1");
  EXPECT_EQ(peer.certificate_fingerprint(), "\xab");
  EXPECT_EQ(peer.ring_ports(0), 7000u);
  EXPECT_EQ(DeviceIdOf(peer, 0), "5");
  EXPECT_EQ(DeviceAddressOf(peer, 0), "192.168.1.5");
}

// A slot without a device is between two that have one.
TEST(BuildPeerList, DevicesStayWithTheirSlots) {
  scheduler::Run run = RunOf(3);
  Node& node = AddNode(run, {.id = "a", .slots = 3});
  Edit(node).info.mutable_slots(0)->set_device_id("4");
  Edit(node).info.mutable_slots(2)->set_device_id("6");
  const v1::PeerNode peer = BuildPeerList(run, 1, All(run)).nodes(0);
  EXPECT_EQ(DeviceIdOf(peer, 0), "4");
  EXPECT_EQ(DeviceIdOf(peer, 1), "");
  EXPECT_EQ(DeviceIdOf(peer, 2), "6");
  EXPECT_EQ(DeviceAddressOf(peer, 2), "");
}

// The size of 100,000 ranks decides the size of a round on the wire and in the journal.
TEST(BuildPeerList, ANodeTakesAHundredBytesAndItsNames) {
  scheduler::Run run = RunOf(8);
  Node& node = AddNode(run, {.id = "n", .slots = 8, .host = "h"});
  Edit(node).info.set_certificate_fingerprint(std::string(64, 'a'));
  const v1::PeerNode peer = BuildPeerList(run, 1, All(run)).nodes(0);
  EXPECT_LE(peer.ByteSizeLong(), 100u);
}

TEST(MasterOf, OffersAndWishes) {
  scheduler::Run run = RunOf(2);
  Node& first = AddNode(run, {.id = "0", .address = "10.0.0.2"});
  Edit(first).info.set_master_port(20000);
  Edit(AddNode(run, {.id = "1", .address = "10.0.0.1"})).info.set_master_port(30000);
  const v1::PeerList list = BuildPeerList(run, 1, All(run));
  EXPECT_EQ(MasterOf(run, list).address, "10.0.0.2");
  EXPECT_EQ(MasterOf(run, list).port, 20000u);
  Edit(first).info.set_wanted_master_address("10.9.9.9");
  Edit(first).info.set_wanted_master_port(29500);
  EXPECT_EQ(MasterOf(run, list).address, "10.9.9.9");
  EXPECT_EQ(MasterOf(run, list).port, 29500u);
  EXPECT_EQ(MasterOf(run, v1::PeerList()).port, 0u);
}

class AssignmentTest : public testing::Test {
 protected:
  void Close() {
    Edit(run_).peers = BuildPeerList(run_, 1, All(run_));
    run_.peer_index = nullptr;
    Edit(run_).master_address = "10.0.0.1";
    Edit(run_).master_port = 20000;
    for (const v1::PeerNode& peer : Edit(run_).peers.nodes()) {
      for (int i = 0; i < SlotCount(peer); ++i) {
        Edit(run_.nodes.at(peer.node_id())).slots[i] = {.phase = SlotState::Phase::kAssigned, .rank = RankOf(peer, i)};
      }
    }
  }
  v1::Assignment Of(const std::string& id) {
    v1::Assignment assignment;
    FillAssignment(run_, run_.nodes.at(id), assignment);
    return assignment;
  }

  scheduler::Run run_ = RunOf(3, 1);
};

TEST_F(AssignmentTest, RingAndPlaces) {
  AddNode(run_, {.id = "a", .slots = 2, .host = "h1", .address = "10.0.0.1"});
  AddNode(run_, {.id = "b", .host = "h2", .address = "10.0.0.2"});
  AddNode(run_, {.id = "s", .host = "h1", .address = "10.0.0.1", .role = v1::ROLE_SERVER});
  Close();
  const v1::Assignment a = Of("a");
  EXPECT_EQ(a.worker_num(), 3u);
  EXPECT_EQ(a.server_num(), 1u);
  EXPECT_EQ(a.local_world_size(), 2u) << "the server on this machine does not count among the workers";
  EXPECT_EQ(a.node_rank(), 0u);
  EXPECT_EQ(a.machine_num(), 2u);
  ASSERT_EQ(a.slots_size(), 2);
  EXPECT_EQ(a.slots(0).previous().rank(), 2u);
  EXPECT_EQ(a.slots(0).previous().node_id(), "b");
  EXPECT_FALSE(a.slots(0).has_next()) << "rank 1 is its own";
  EXPECT_FALSE(a.slots(1).has_previous()) << "rank 0 is its own";
  EXPECT_EQ(a.address(), IpAddress::Parse("10.0.0.1")->bytes());
  EXPECT_EQ(a.slots(1).next().rank(), 2u);
  EXPECT_EQ(a.slots(1).next().host_name(), "h2");
  EXPECT_EQ(a.slots(1).next().address(), IpAddress::Parse("10.0.0.2")->bytes());
  EXPECT_EQ(a.slots(1).next().port(), 7000u);
  const v1::Assignment s = Of("s");
  EXPECT_EQ(s.role(), v1::ROLE_SERVER);
  EXPECT_EQ(s.local_world_size(), 1u);
  EXPECT_FALSE(s.slots(0).has_previous() || s.slots(0).has_next()) << "alone, a ring of one";
}

// The certificate that a node had when the round closed counts, not a newer one.
TEST_F(AssignmentTest, CertificatesAreThoseOfTheRound) {
  run_ = RunOf(2);
  Edit(AddNode(run_, {.id = "a"})).info.set_certificate_fingerprint("aa");
  Edit(AddNode(run_, {.id = "b"})).info.set_certificate_fingerprint("bb");
  Close();
  Edit(run_.nodes.at("a")).info.set_certificate_fingerprint("cc");
  EXPECT_EQ(Of("a").certificate_fingerprint(), "\xaa");
  EXPECT_EQ(Of("a").slots(0).next().certificate_fingerprint(), "\xbb");
  EXPECT_EQ(Of("b").slots(0).next().certificate_fingerprint(), "\xaa");
  Close();
  EXPECT_EQ(Of("a").certificate_fingerprint(), "\xcc");
  EXPECT_EQ(Of("b").slots(0).next().certificate_fingerprint(), "\xcc");
}

// Ranks of a table need not be consecutive. So the assignment has, for each slot, the neighbours on other nodes, on
// both sides.
TEST_F(AssignmentTest, NeighboursElsewhereAreToldOfEachSlot) {
  run_ = RunOf(4);
  for (const char* id : {"a", "b"}) AddNode(run_, {.id = id, .slots = 2, .address = std::string("10.0.0.") + id[0]});
  for (const uint32_t rank : {0u, 2u}) Edit(run_.nodes.at("a")).info.add_table_ranks(rank);
  for (const uint32_t rank : {1u, 3u}) Edit(run_.nodes.at("b")).info.add_table_ranks(rank);
  Close();
  const v1::Assignment a = Of("a");
  EXPECT_EQ(a.slots(0).previous().rank(), 3u);
  EXPECT_EQ(a.slots(0).previous().port(), 7001u);
  EXPECT_EQ(a.slots(0).next().rank(), 1u);
  EXPECT_EQ(a.slots(1).previous().rank(), 1u);
  EXPECT_EQ(a.slots(1).next().rank(), 3u);
}

// The assignment of 8 slots with TLS, with names as long as they may usefully be.
TEST_F(AssignmentTest, StaysBelowAThousandBytes) {
  run_ = RunOf(24);
  for (const char* id : {"a", "b", "c"}) {
    Node& node = AddNode(run_, {.id = std::string(60, id[0]), .slots = 8, .host = std::string(60, 'h') + id});
    Edit(node).info.set_certificate_fingerprint(std::string(64, 'a'));
  }
  Close();
  EXPECT_LE(Of(std::string(60, 'b')).ByteSizeLong(), 1000u);
}

TEST_F(AssignmentTest, WhatHasEndedShallNotRunAgain) {
  AddNode(run_, {.id = "a", .slots = 3});
  AddNode(run_, {.id = "s", .role = v1::ROLE_SERVER});
  Close();
  Edit(run_.nodes.at("a")).slots[1].phase = SlotState::Phase::kDone;
  Edit(run_.nodes.at("a")).slots[2].phase = SlotState::Phase::kRunning;
  Edit(run_.nodes.at("a")).slots[2].attempt = 4;
  const v1::Assignment a = Of("a");
  EXPECT_TRUE(a.slots(0).should_run());
  EXPECT_FALSE(a.slots(1).should_run());
  EXPECT_TRUE(a.slots(2).should_run());
  EXPECT_EQ(a.slots(2).attempt(), 4u);
}

TEST_F(AssignmentTest, NothingForANodeWithoutRanks) {
  AddNode(run_, {.id = "a", .slots = 3});
  AddNode(run_, {.id = "s", .role = v1::ROLE_SERVER});
  Close();
  AddNode(run_, {.id = "spare"});
  EXPECT_TRUE(Of("spare").slots().empty());
}

TEST(PeerIndexDeathTest, RanksThatAreNoPermutationAreNeverHandedOut) {
  v1::PeerList list;
  list.set_worker_num(2);
  list.set_machine_num(1);
  for (int i = 0; i < 2; ++i) {
    v1::PeerNode* node = list.add_nodes();
    node->set_role(v1::ROLE_WORKER);
    node->set_first_rank(1);
    node->add_ring_ports(7000);
  }
  EXPECT_DEATH(PeerIndex{list}, "ranks are no permutation");
}

}  // namespace
}  // namespace muster::scheduler
