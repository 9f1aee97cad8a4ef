#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/settings/settings.h"
#include "scheduler/scheduler_settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A small program's settings; one of them is marked.
struct HelpedProgram {
  HelpedProgram() {
    table.BeginGroup("Cluster");
    table.AddUint("worker_num", &number, 1, 8, "Number of workers.").Env({"MS_WORKER_NUM"}).Alias({"workers"}).Common();
    table.AddSeconds("patience", &patience, absl::Milliseconds(100), absl::Hours(1), "Time to wait.");
    table.BeginGroup("Other");
    table.AddBool("once", &is_on, "Ends with the job.");
    table.AddBool("datagrams", &has_datagrams, "Uses UDP.").For({"logs", "top"});
    table.AddIgnored("secret", "X", {});
    table.AddExample("demo --worker_num 4", "Runs four.");
    table.AddCommand({"Look at jobs", "logs RANK", "Shows the output."});
  }
  uint32_t number = 4;
  absl::Duration patience = absl::Seconds(5);
  bool is_on = false;
  bool has_datagrams = true;
  SettingsTable table{"demo", "demo [settings]", "A demo."};
};

size_t CountOfFlags(const std::string& help) {
  const std::vector<std::string> lines = absl::StrSplit(help, '\n');
  return static_cast<size_t>(
      std::count_if(lines.begin(), lines.end(), [](const auto& line) { return absl::StartsWith(line, "  --"); }));
}

TEST(HelpText, ExplainsTheMarkedSettings) {
  const HelpedProgram demo;
  const std::string help = HelpText(demo.table);
  EXPECT_THAT(help, StartsWith("Usage: demo [settings]\n\nA demo.\n"
                               "\nLook at jobs:\n"
                               "  logs RANK                   Shows the output.\n"
                               "\nExamples:\n"
                               "  demo --worker_num 4         Runs four.\n"));
  EXPECT_THAT(help, EndsWith("\nCluster:\n"
                             "  --worker_num N              Number of workers. Range: 1 to 8. Default: 4. "
                             "[MS_WORKER_NUM] Also: --workers.\n"
                             "\n--help-all shows all 4 settings.\n"));
}

TEST(HelpText, ExplainsAllWhenAskedTo) {
  const HelpedProgram demo;
  const std::string help = FullHelpText(demo.table);
  EXPECT_THAT(help, HasSubstr("  --patience SECONDS          Time to wait. Range: 100 ms to 3600 s. Default: 5 s.\n"
                              "\nOther:\n"
                              "  --once                      Ends with the job.\n"
                              "  --datagrams                 logs, top: Uses UDP. Default: on.\n"
                              "  --config FILE "));
  EXPECT_THAT(help, HasSubstr("  --help-all "));
  EXPECT_THAT(help, Not(HasSubstr("secret")));
}

TEST(HelpText, ShowsAllIfNoneIsMarked) {
  bool is_on = false;
  SettingsTable table("demo", "demo [settings]", "A demo.");
  table.AddBool("once", &is_on, "Ends with the job.");
  EXPECT_EQ(HelpText(table), FullHelpText(table));
  EXPECT_THAT(HelpText(table), Not(HasSubstr("--help-all")));
}

TEST(HelpText, BothProgramsMarkFifteenAndExplainEverySetting) {
  scheduler::SchedulerSettings scheduler_settings;
  agent::AgentSettings agent_settings;
  for (const SettingsTable& table :
       {scheduler::SchedulerSettingsTable(scheduler_settings), agent::AgentSettingsTable(agent_settings)}) {
    SCOPED_TRACE(table.program());
    const std::string full = FullHelpText(table);
    size_t shown = 0;
    for (const Setting& setting : table.settings()) {
      if (setting.is_hidden) continue;
      ++shown;
      EXPECT_THAT(setting.help, EndsWith(".")) << setting.flag;
      EXPECT_THAT(full, HasSubstr("  --" + setting.flag));
    }
    constexpr size_t kBuiltIn = 4;  // --config, --help, --help-all, --version
    EXPECT_EQ(CountOfFlags(full), shown + kBuiltIn);
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(full, '\n'))) EXPECT_LE(line.size(), 110u);

    const std::string help = HelpText(table);
    EXPECT_EQ(CountOfFlags(help), 15u);
    EXPECT_EQ(table.examples().size(), 2u);
    EXPECT_THAT(help, EndsWith(absl::StrCat("\n--help-all shows all ", shown, " settings.\n")));
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
