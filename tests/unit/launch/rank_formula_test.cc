#include "worker_agent/launch/environment/rank_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/launch/sample_round.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

// Node 1 of two nodes, with `own` processes on each; it has these ranks.
v1::Assignment SecondNode(const std::vector<uint32_t>& ranks) {
  v1::Assignment assignment;
  assignment.set_role(v1::ROLE_WORKER);
  assignment.set_node_rank(1);
  assignment.set_machine_num(2);
  assignment.set_local_world_size(static_cast<uint32_t>(ranks.size()));
  for (const uint32_t rank : ranks) {
    v1::SlotAssignment* slot = assignment.add_slots();
    slot->set_local_rank(static_cast<uint32_t>(assignment.slots_size()) - 1);
    slot->set_rank(rank);
  }
  return assignment;
}

TEST(RankFormula, HoldsForEqualNodes) {
  EXPECT_EQ(RankFormulaWarning(SecondNode({2, 3}), nullptr, false), "");
  EXPECT_EQ(RankFormulaWarning(SecondNode({2, 3}), nullptr, true), "");
  EXPECT_EQ(RankFormulaWarning(v1::Assignment(), nullptr, true), "");
}

TEST(RankFormula, UnequalNodesAreReportedWithTheNumbersAndTheRemedy) {
  const std::string plain = RankFormulaWarning(SecondNode({4, 5}), nullptr, false);
  EXPECT_THAT(plain, HasSubstr("rank 4 would count itself as 1 × 2 + 0 = 2"));
  EXPECT_THAT(plain, HasSubstr("{rank} and {world_size} instead of {node_rank}"));
  EXPECT_THAT(RankFormulaWarning(SecondNode({4, 5}), nullptr, true), HasSubstr("start it without --per_node"));
}

TEST(RankFormula, RanksThatDoNotStandSideBySideAreTold) {
  EXPECT_THAT(RankFormulaWarning(SecondNode({2, 5}), nullptr, false), HasSubstr("rank 5 would count itself as"));
}

// In the sample node 0 has 4 processes and node 1 has 2.
TEST(RankFormula, RankZerosNodeReportsTheOthers) {
  const v1::PeerList peers = SamplePeers();
  EXPECT_THAT(RankFormulaWarning(SampleState(0).assignment(), &peers, false), HasSubstr("1 × 2 + 0 = 2"));
  EXPECT_EQ(RankFormulaWarning(SampleState(0).assignment(), nullptr, false), "");
}

TEST(RankFormula, SeveralAgentsOfAMachineShareANodeRank) {
  v1::Assignment assignment = SecondNode({2, 3});
  assignment.set_local_world_size(4);
  assignment.set_node_rank(0);
  assignment.mutable_slots(0)->set_local_rank(2);
  assignment.mutable_slots(1)->set_local_rank(3);
  EXPECT_EQ(RankFormulaWarning(assignment, nullptr, false), "");
  EXPECT_THAT(RankFormulaWarning(assignment, nullptr, true), HasSubstr("--machine NAME of its own"));
}

TEST(RankFormula, ServersAreNotLookedAt) {
  v1::Assignment assignment = SecondNode({7, 9});
  assignment.set_role(v1::ROLE_SERVER);
  EXPECT_EQ(RankFormulaWarning(assignment, nullptr, true), "");
}

}  // namespace
}  // namespace muster::agent
