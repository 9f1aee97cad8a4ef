#include "common/settings/names.h"

#include <gtest/gtest.h>

#include <string>

#include "worker_agent/settings/agent_settings.h"

namespace muster {
namespace {

TEST(EditDistance, CountsSwapsAsOne) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("worker", "workr"), 1u);
  EXPECT_EQ(EditDistance("worker", "wokrer"), 1u);
  EXPECT_EQ(EditDistance("worker", "walker"), 2u);
}

class NamesTest : public ::testing::Test {
 protected:
  agent::AgentSettings settings_;
  const SettingsTable table_ = agent::AgentSettingsTable(settings_);
  const NameIndex names_{table_};
};

TEST_F(NamesTest, DashesAndUnderscoresAreTheSame) {
  ASSERT_NE(names_.FindFlag("worker-num"), nullptr);
  EXPECT_EQ(names_.FindFlag("worker-num"), names_.FindFlag("worker_num"));
  EXPECT_EQ(names_.FindFlag("nproc-per-node"), names_.FindFlag("local_worker_num"));
  EXPECT_NE(names_.FindForbidden("master-addr"), nullptr);
  EXPECT_EQ(names_.FindFlag("worker_Num"), nullptr);
}

TEST_F(NamesTest, FindsTheFlagThatWasMeant) {
  const struct {
    std::string typed, meant;
  } cases[] = {{"workr_num", "worker_num"},
               {"log-dri", "log_dir"},
               {"nproc_per_nod", "nproc_per_node"},
               {"confg", "config"},
               {"hlep", "help"},
               {"cluster_retry", "cluster_retry_num"},
               {"epochs", ""},
               {"lr", ""},
               {"once_", ""}};
  for (const auto& c : cases) EXPECT_EQ(names_.ResemblingFlag(c.typed).value_or(""), c.meant) << c.typed;
}

TEST_F(NamesTest, WarnsOfSlipsAndNotOfMindSporesOwn) {
  const struct {
    std::string name, meant;
  } cases[] = {{"MS_WORKR_NUM", "MS_WORKER_NUM"},
               {"MS_WORKER_NUMS", "MS_WORKER_NUM"},
               {"MS_SHCED_HOST", "MS_SCHED_HOST"},
               {"MS_ROEL", "MS_ROLE"},
               {"MS_RLEO", ""},  // a short name may differ by one character only
               {"MS_WORKER_NUM", ""},
               {"MS_NODE_TIMEOUT", ""},  // a setting of the scheduler
               {"MS_RETRY_INTERVAL_LOWER", ""},
               {"MS_DEV_NODE_ID", ""},
               {"MS_BUILD_PROCESS_NUM", ""},
               {"MS_COMPILER_CACHE_ENABLE", ""},
               {"MS_JIT", ""},
               {"MS_ENABLE_GE", ""},
               {"MS_SOMETHING_ELSE", ""}};
  for (const auto& c : cases) EXPECT_EQ(names_.ResemblingVariable(c.name).value_or(""), c.meant) << c.name;
}

TEST(ResemblingVariable, MindSporesOwnAreNoSlipsHoweverNear) {
  std::string value;
  SettingsTable table("demo", "demo", "A demo.");
  table.AddString("enable_go", &value, "Goes.").Env({"MS_ENABLE_GO", "MS_BUILT_NUM"});
  const NameIndex names(table);
  EXPECT_EQ(names.ResemblingVariable("MS_ENABLE_GI"), "MS_ENABLE_GO");
  EXPECT_EQ(names.ResemblingVariable("MS_ENABLE_GE"), std::nullopt);
  EXPECT_EQ(names.ResemblingVariable("MS_BUILDNUM"), "MS_BUILT_NUM");
  EXPECT_EQ(names.ResemblingVariable("MS_BUILD_NUM"), std::nullopt);
}

}  // namespace
}  // namespace muster
