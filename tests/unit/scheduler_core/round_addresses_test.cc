// Tests the rows of the table in round_addresses.cc.
#include "scheduler/core/places/round_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/core/places/placement.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Spec {
  std::string id;
  std::string address;
  std::string reached_at = "";
  std::string other_address = "";
  std::string machine = "";  // empty: a machine of its own
  bool is_given = false;
};

class RoundAddressesTest : public ::testing::Test {
 protected:
  void Add(const Spec& spec) {
    Node& node = AddNode(run_, {.id = spec.id, .machine = spec.machine, .address = spec.address});
    node.reached_at = spec.reached_at;
    Edit(node).info.set_other_address(spec.other_address);
    Edit(node).info.set_is_address_given(spec.is_given);
  }

  // "a=10.0.0.1 b=10.0.0.2", the addresses that peers get; "a=none" for those that can't take part.
  std::string Choose(const std::string& own_address = "") {
    chosen_ = ChooseAddresses(Members(), own_address);
    std::vector<std::string> texts;
    for (const Node* node : Members()) {
      std::string address = AddressOf(*node, chosen_.others);
      for (const Unreachable& one : chosen_.unreachable) {
        if (one.node == node) address = "none";
      }
      texts.push_back(absl::StrCat(node->record().id, "=", address));
    }
    return absl::StrJoin(texts, " ");
  }

  std::vector<const Node*> Members() const {
    std::vector<const Node*> members;
    for (const auto& [id, node] : run_.nodes) members.push_back(&node);
    return members;
  }

  scheduler::Run run_ = RunOf(2);
  RoundAddresses chosen_;
};

TEST_F(RoundAddressesTest, OneMachineKeepsLoopback) {
  Add({.id = "a", .address = "127.0.0.1", .other_address = "10.0.0.1", .machine = "m"});
  Add({.id = "b", .address = "127.0.0.1", .machine = "m", .is_given = true});
  EXPECT_EQ(Choose("10.0.0.1"), "a=127.0.0.1 b=127.0.0.1");
  EXPECT_THAT(chosen_.others, IsEmpty());
}

TEST_F(RoundAddressesTest, MachinesOfOneHostThatOnlyNamesPartKeepLoopback) {
  Add({.id = "a", .address = "127.0.0.1", .machine = "name:x"});
  Add({.id = "b", .address = "127.0.0.1", .machine = "name:y", .is_given = true});
  Add({.id = "c", .address = "::1", .machine = "0123456789abcdef"});
  EXPECT_EQ(Choose("10.0.0.1"), "a=127.0.0.1 b=127.0.0.1 c=::1");
}

TEST_F(RoundAddressesTest, OtherAddressesStayAsTheyAre) {
  Add({.id = "a", .address = "10.0.0.1", .reached_at = "10.0.0.9", .other_address = "10.1.1.1"});
  Add({.id = "b", .address = "10.0.0.2", .is_given = true});
  EXPECT_EQ(Choose("10.0.0.9"), "a=10.0.0.1 b=10.0.0.2");
}

TEST_F(RoundAddressesTest, FirstWhereOthersReachedTheScheduler) {
  Add({.id = "a", .address = "127.0.0.1", .reached_at = "127.0.1.1", .other_address = "10.2.0.1"});
  Add({.id = "b", .address = "10.0.0.2", .reached_at = "10.0.0.1"});
  EXPECT_EQ(Choose("10.3.0.1"), "a=10.0.0.1 b=10.0.0.2");
}

TEST_F(RoundAddressesTest, WhereMostOfThemReachedItElseTheLowest) {
  Add({.id = "a", .address = "127.0.0.1"});
  Add({.id = "b", .address = "10.0.0.2", .reached_at = "10.9.0.1"});
  Add({.id = "c", .address = "10.0.0.3", .reached_at = "10.0.0.1"});
  EXPECT_EQ(Choose(), "a=10.0.0.1 b=10.0.0.2 c=10.0.0.3");
  Add({.id = "d", .address = "10.0.0.4", .reached_at = "10.9.0.1"});
  EXPECT_EQ(Choose(), "a=10.9.0.1 b=10.0.0.2 c=10.0.0.3 d=10.0.0.4");
}

TEST_F(RoundAddressesTest, NodesOfItsOwnMachineDontCount) {
  Add({.id = "a", .address = "127.0.0.1", .machine = "m"});
  Add({.id = "b", .address = "10.0.0.1", .reached_at = "10.0.0.1", .machine = "m"});
  Add({.id = "c", .address = "10.0.0.2", .reached_at = "127.0.0.1"});
  EXPECT_EQ(Choose(), "a=none b=10.0.0.1 c=10.0.0.2");
}

TEST_F(RoundAddressesTest, ThenTheListeningAddressUnlessThatIsNone) {
  Add({.id = "a", .address = "127.0.0.1", .other_address = "10.2.0.1"});
  Add({.id = "b", .address = "10.0.0.2", .reached_at = "127.0.0.1"});
  EXPECT_EQ(Choose("10.3.0.1"), "a=10.3.0.1 b=10.0.0.2");
  for (const char* none : {"", "0.0.0.0", "127.0.0.1", "::"}) EXPECT_EQ(Choose(none), "a=10.2.0.1 b=10.0.0.2") << none;
}

TEST_F(RoundAddressesTest, WithNoneOfTheseItCantTakePart) {
  Add({.id = "a", .address = "::1", .other_address = "127.0.0.1"});
  Add({.id = "b", .address = "10.0.0.2"});
  EXPECT_EQ(Choose(), "a=none b=10.0.0.2");
  ASSERT_EQ(chosen_.unreachable.size(), 1u);
  EXPECT_THAT(chosen_.unreachable[0].reason, AllOf(HasSubstr("::1"), HasSubstr("--worker_ip"), HasSubstr("host-a")));
}

TEST_F(RoundAddressesTest, AUsersOwnLoopbackIsNotReplaced) {
  Add({.id = "a", .address = "127.0.0.1", .other_address = "10.0.0.1", .is_given = true});
  Add({.id = "b", .address = "10.0.0.2", .reached_at = "10.0.0.1"});
  EXPECT_EQ(Choose("10.0.0.1"), "a=none b=10.0.0.2");
  EXPECT_THAT(chosen_.unreachable[0].reason, AllOf(HasSubstr("127.0.0.1 (--worker_ip)"), HasSubstr("host-a")));
}

TEST_F(RoundAddressesTest, ThroughTunnelsEachHasItsOwnDefaultRouteOnly) {
  Add({.id = "a", .address = "127.0.0.1", .other_address = "10.0.0.1", .machine = "0123456789abcdef"});
  Add({.id = "b", .address = "127.0.0.1", .other_address = "10.0.0.2", .machine = "fedcba9876543210"});
  Add({.id = "c", .address = "10.0.0.3", .reached_at = "10.0.0.1"});
  EXPECT_EQ(Choose("10.0.0.1"), "a=10.0.0.1 b=10.0.0.2 c=10.0.0.3");
}

TEST_F(RoundAddressesTest, RanksAndTheMasterGoByWhatIsTold) {
  Add({.id = "b", .address = "127.0.0.1", .other_address = "10.0.0.9"});
  Add({.id = "c", .address = "10.0.0.2", .reached_at = "10.0.0.9"});
  Choose();
  const v1::PeerList list = BuildPeerList(run_, 1, Members(), {}, chosen_.others);
  EXPECT_EQ(list.nodes(0).node_id(), "c") << "10.0.0.2 is before 10.0.0.9";
  EXPECT_EQ(MasterOf(run_, list).address, "10.0.0.2");
  Edit(run_.nodes.at("c")).info.set_address("10.0.0.20");
  const v1::PeerList other = BuildPeerList(run_, 1, Members(), {}, chosen_.others);
  EXPECT_EQ(other.nodes(0).node_id(), "b");
  EXPECT_EQ(MasterOf(run_, other).address, "10.0.0.9");
  Edit(run_.nodes.at("b")).info.set_wanted_master_address("127.0.1.1");
  EXPECT_EQ(MasterOf(run_, other).address, "10.0.0.9") << "MASTER_ADDR was that node's own name";
  Edit(run_.nodes.at("b")).info.set_wanted_master_address("10.7.0.1");
  EXPECT_EQ(MasterOf(run_, other).address, "10.7.0.1");
}

}  // namespace
}  // namespace muster::scheduler
