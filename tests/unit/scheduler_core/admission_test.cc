#include "scheduler/core/places/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using testing::HasSubstr;

struct IdCase {
  const char* here;  // an id that has joined already; empty: none
  const char* id;
  int slots;
  const char* expected;  // part of the refusal, or "welcome"
};

TEST(CheckNodeId, Table) {
  const std::vector<IdCase> table = {
      {"", "3", 1, "welcome"},
      {"", "4", 1, "a number is the rank, and with MS_WORKER_NUM=4 the ranks are 0 to 3"},
      {"", "004", 1, "out of range"},
      {"", "4", 2, "welcome"},
      {"", "12345678901", 2, "too large a number"},
      {"", "node-4", 1, "welcome"},
      {"1", "2", 1, "welcome"},
      {"1", "01", 1, "the same number as node 1 (host-1, 10.0.0.1)'s"},
      {"1", "001", 2, "the same number"},
      {"1", "b", 1, "MS_NODE_ID b is no number, but node 1 (host-1, 10.0.0.1) has a number"},
      {"1", "", 1, "this node has no MS_NODE_ID, but node 1 (host-1, 10.0.0.1) has a number"},
      {"b", "1", 1, "MS_NODE_ID 1 is a number, but node b (host-b, 10.0.0.1) has a name"},
      {"b", "", 1, "welcome"},
      {"b", "c", 1, "welcome"},
  };
  for (const IdCase& c : table) {
    scheduler::Run run = RunOf(4);
    if (*c.here != '\0') AddNode(run, {.id = c.here});
    const auto refusal = CheckNodeId(run, Edit(run).settings, c.id, InfoOf({.id = c.id, .slots = c.slots}));
    EXPECT_THAT(TextOf(refusal), HasSubstr(c.expected)) << "id " << c.id << " beside " << c.here;
    if (refusal) {
      EXPECT_EQ(refusal->reason(), v1::Refusal::NODE_ID_INVALID);
    }
  }
}

TEST(CheckNodeId, NumbersAreNoRanksWithServersOrAddressOrder) {
  EXPECT_EQ(TextOf(CheckNodeId(RunOf(4, 1), RunOf(4, 1).record().settings, "9", InfoOf({.id = "9"}))), "welcome");
  scheduler::Run run = RunOf(4);
  Edit(run).settings.set_hccl_cm_init(true);
  EXPECT_EQ(TextOf(CheckNodeId(run, run.record().settings, "9", InfoOf({.id = "9"}))), "welcome");
}

TEST(CheckNodeId, SparesAreNotCompared) {
  scheduler::Run run = RunOf(4);
  AddSpare(run, {.id = "1"});
  EXPECT_EQ(TextOf(CheckNodeId(run, run.record().settings, "b", InfoOf({.id = "b"}))), "welcome");
}

TEST(CheckNodeId, NodeRanksBelongToMachines) {
  scheduler::Run run = RunOf(4);
  v1::NodeInfo& other = Edit(AddNode(run, {.id = "a", .machine = "m1"})).info;
  Edit(run).slot_counts.Remove("a", other, false);
  other.set_node_rank(1);
  Edit(run).slot_counts.Add("a", other, false);
  v1::NodeInfo info = InfoOf({.id = "b", .machine = "m2"});
  info.set_node_rank(1);
  EXPECT_THAT(TextOf(CheckNodeId(run, run.record().settings, "b", info)),
              HasSubstr("node rank 1 (--node_rank, MS_NODE_RANK)"));
  info.set_node_rank(2);
  EXPECT_EQ(TextOf(CheckNodeId(run, run.record().settings, "b", info)), "welcome");
  info.set_node_rank(1);
  info.set_machine_id("m1");
  EXPECT_EQ(TextOf(CheckNodeId(run, run.record().settings, "b", info)), "welcome");
}

TEST(CheckNodeId, RankTables) {
  const auto with_table = [](int slots, const std::vector<uint32_t>& ranks) {
    v1::NodeInfo info = InfoOf({.id = "b", .slots = slots});
    for (const uint32_t rank : ranks) info.add_table_ranks(rank);
    return info;
  };
  scheduler::Run run = RunOf(4);
  Edit(AddNode(run, {.id = "a"})).info = with_table(1, {0, 1});
  const std::vector<std::pair<v1::NodeInfo, const char*>> table = {
      {with_table(1, {0, 1}), "welcome"},
      {with_table(2, {0, 1}), "gives this server 2 ranks, but its agents bring 3 processes"},
      {with_table(2, {2, 3}), "welcome"},
      {with_table(2, {2, 4}), "gives this server rank 4, but with MS_WORKER_NUM=4 the ranks are 0 to 3"},
      {with_table(2, {2, 2}), "gives rank 2 twice"},
      {with_table(2, {3, 1}), "gives rank 1 to this server and to that of node a (host-b, 10.0.0.1)"},
      {with_table(1, {1, 0}), "gives rank 0 to this server and to that of node a"},
  };
  for (const auto& [info, expected] : table) {
    EXPECT_THAT(TextOf(CheckNodeId(run, run.record().settings, "b", info)), HasSubstr(expected))
        << info.ShortDebugString();
  }
}

TEST(CheckRoom, CountsRegularSlotsOfTheRole) {
  scheduler::Run run = RunOf(4, 1);
  AddNode(run, {.id = "a", .slots = 3});
  AddSpare(run, {.id = "b"});
  AddNode(run, {.id = "s", .role = v1::ROLE_SERVER});
  const auto room = [&](const NodeSpec& spec) { return CheckRoom(run, Edit(run).settings, InfoOf(spec)); };
  EXPECT_EQ(TextOf(room({.id = "c"})), "welcome");
  EXPECT_THAT(TextOf(room({.id = "c", .slots = 2})),
              HasSubstr("brings 2 processes, but there is room for 1 only: 3 of 4 workers of job default are there"));
  EXPECT_THAT(TextOf(room({.id = "t", .role = v1::ROLE_SERVER})), HasSubstr("all 1 servers of job default"));
  EXPECT_THAT(TextOf(room({.id = "t", .role = v1::ROLE_SERVER})), HasSubstr("MS_SERVER_NUM=1"));
  AddNode(run, {.id = "d"});
  const auto refusal = room({.id = "c"});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason(), v1::Refusal::EXTRA_NODE);
  EXPECT_THAT(refusal->text(), HasSubstr("--spare"));
}

TEST(CheckRoom, AnAbsentNodeStillHoldsItsPlace) {
  scheduler::Run run = RunOf(1);
  AddNode(run, {.id = "a"}).stream = 0;
  EXPECT_TRUE(CheckRoom(run, run.record().settings, InfoOf({.id = "b"})).has_value());
  EXPECT_EQ(CountConnectedSlots(run, v1::ROLE_WORKER), 0u);
  EXPECT_EQ(run.record().slot_counts.RegularSlots(v1::ROLE_WORKER), 1u);
}

TEST(ChooseNodeId, IsReadableAndNew) {
  scheduler::Run run = RunOf(4);
  EXPECT_EQ(ChooseNodeId(run, "gpu7.example.org"), "gpu7-0");
  AddNode(run, {.id = "gpu7-0"});
  Edit(run).gone["gpu7-1"] = GoneNode{};
  EXPECT_EQ(ChooseNodeId(run, "gpu7"), "gpu7-2");
  EXPECT_EQ(ChooseNodeId(run, ""), "node-0");
  EXPECT_EQ(ChooseNodeId(run, ".local"), "node-0");
  EXPECT_EQ(ChooseNodeId(run, "7"), "7-0") << "a host's name must not become a number";
  EXPECT_EQ(ChooseNodeId(run, "a b\n\"c"), "a_b__c-0");
  EXPECT_EQ(ChooseNodeId(run, std::string(200, 'x')), std::string(64, 'x') + "-0");
}

}  // namespace
}  // namespace muster::scheduler
