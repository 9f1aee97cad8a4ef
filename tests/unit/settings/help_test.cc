#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_split.h"
#include "common/settings/settings.h"
#include "scheduler/scheduler_settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HelpText, GroupsAndExplains) {
  uint32_t number = 4;
  bool is_on = false;
  SettingsTable table("demo", "demo [settings]", "A demo.");
  table.BeginGroup("Cluster");
  table.AddUint("worker_num", &number, 1, 8, "How many.").Env({"MS_WORKER_NUM"}).Alias({"workers"});
  table.BeginGroup("Other");
  table.AddBool("once", &is_on, "Once.");
  table.AddIgnored("secret", "X", {});
  const std::string help = HelpText(table);
  EXPECT_THAT(help, HasSubstr("Usage: demo [settings]\n\nA demo.\n"));
  EXPECT_THAT(help, HasSubstr("\nCluster:\n"
                              "  --worker_num N              How many. Default: 4. [MS_WORKER_NUM] Also: --workers.\n"
                              "\nOther:\n"
                              "  --once                      Once.\n"
                              "  --config FILE "));
  EXPECT_THAT(help, Not(HasSubstr("secret")));
}

TEST(HelpText, BothProgramsExplainEverySetting) {
  scheduler::SchedulerSettings scheduler_settings;
  agent::AgentSettings agent_settings;
  for (const SettingsTable& table :
       {scheduler::SchedulerSettingsTable(scheduler_settings), agent::AgentSettingsTable(agent_settings)}) {
    const std::string help = HelpText(table);
    for (const Setting& setting : table.settings()) {
      if (setting.is_hidden) continue;
      EXPECT_FALSE(setting.help.empty()) << setting.flag;
      EXPECT_THAT(help, HasSubstr("  --" + setting.flag)) << table.program();
    }
    size_t longest = 0;
    for (const auto& line : absl::StrSplit(help, '\n')) longest = std::max(longest, line.size());
    EXPECT_LE(longest, 110u) << table.program();
  }
}

TEST(ShowSettings, NamesValueAndSource) {
  agent::AgentSettings settings;
  SettingsTable table = agent::AgentSettingsTable(settings);
  const LoadResult result = LoadSettings(table, {"--worker-num", "8", "--node_timeout=9"}, {{"NODE_RANK", "1"}}, true);
  const std::string shown = ShowSettings(table, result);
  EXPECT_THAT(shown, ::testing::ContainsRegex("\n  worker_num +8 +--worker-num\n"));
  EXPECT_THAT(shown, ::testing::ContainsRegex("\n  node_rank +1 +NODE_RANK\n"));
  EXPECT_THAT(shown, ::testing::ContainsRegex("\n  hccl_cm_init +\\(not set\\) +default\n"));
  EXPECT_THAT(shown, ::testing::ContainsRegex("\n  node_timeout +\\(not used here\\) +--node_timeout\n"));
  EXPECT_THAT(shown, ::testing::ContainsRegex("\n  topo_timeout +1800 s +default\n"));
  EXPECT_THAT(shown, Not(HasSubstr("listen_address")));
}

}  // namespace
}  // namespace muster
