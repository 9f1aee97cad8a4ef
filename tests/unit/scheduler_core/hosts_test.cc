// Tests the rows of the table in hosts.cc. tests/unit/preflight tests what is compared.
#include "scheduler/core/lifecycle/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/hosts/compare.h"
#include "tests/unit/scheduler_core/run_builder.h"

namespace muster::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HostsTest : public ::testing::Test {
 protected:
  void Add(const std::string& id, const std::string& mtu, const std::string& tls, const std::string& fatal) {
    Node& node = AddNode(run_, {.id = id, .machine = id});
    for (const auto& [name, value] : {std::pair<const char*, std::string>{kFactKind, "Ascend A2"},
                                      {kFactMtu, mtu},
                                      {kFactTls, tls},
                                      {kFactFatal, fatal}}) {
      v1::HostFact& fact = *Edit(node).info.add_host_facts();
      fact.set_name(name);
      fact.set_value(value);
    }
  }

  HostsCheck Judge() const {
    std::vector<const Node*> members;
    for (const auto& [id, node] : run_.nodes) members.push_back(&node);
    return JudgeHosts(members);
  }

  scheduler::Run run_ = RunOf(3);
};

TEST_F(HostsTest, LikeHostsAndHostsWithoutFactsPass) {
  AddNode(run_, {.id = "plain", .machine = "plain"});
  Add("a", "1500", "off", "error");
  Add("b", "1500", "off", "error");
  EXPECT_THAT(Judge().unfit, IsEmpty());
  EXPECT_THAT(Judge().warnings, IsEmpty());
}

TEST_F(HostsTest, AnErrorTurnsTheOddNodeAway) {
  Add("a", "1500", "off", "error");
  Add("b", "1500", "on", "error");
  Add("c", "1500", "off", "error");
  const HostsCheck check = Judge();
  ASSERT_EQ(check.unfit.size(), 1u);
  EXPECT_EQ(check.unfit[0].node->record().id, "b");
  EXPECT_THAT(check.unfit[0].reason, AllOf(HasSubstr("on on b, but off on a, c"), HasSubstr("hccn_tool")));
  EXPECT_THAT(check.warnings, IsEmpty());
}

TEST_F(HostsTest, AWarningIsSaid) {
  Add("a", "1500", "off", "error");
  Add("b", "9000", "off", "error");
  EXPECT_THAT(Judge().unfit, IsEmpty());
  EXPECT_THAT(Judge().warnings, ElementsAre(HasSubstr("same_mtu: the MTU is 9000 on b")));
}

TEST_F(HostsTest, AWarningTurnsAwayANodeThatWantsItSo) {
  Add("a", "1500", "off", "error");
  Add("b", "9000", "off", "warning");
  ASSERT_EQ(Judge().unfit.size(), 1u);
  EXPECT_EQ(Judge().unfit[0].node->record().id, "b");
}

}  // namespace
}  // namespace muster::scheduler
