#include <gtest/gtest.h>

#include "common/base/limits.h"
#include "worker_agent/gateway/exec/command_reports.h"

namespace muster::exec {
namespace {

TEST(ShownCommand, EachRow) {
  struct {
    const char* words;
    const char* shown;
  } const table[] = {
      {"", ""},
      {"orted -mca ess env -mca orte_ess_jobid 12", "orted -mca ess env -mca orte_ess_jobid 12"},
      {"A=1 python x.py", "A=… python x.py"},
      {"export TOKEN=abc; run", "export TOKEN=…; run"},
      {"TOKEN='a b; c' run", "TOKEN=… run"},
      {"TOKEN=\"a \\\" b\"x run", "TOKEN=… run"},
      {"TOKEN=a\\ b run", "TOKEN=… run"},
      {"env 'TOKEN=abc' run", "env TOKEN=… run"},
      {"env \"TOKEN=a b\" run", "env TOKEN=… run"},
      {"bash -c 'cd /x ; A=1 B=\"2 3\" python'", "bash -c 'cd /x ; A=… B=… python'"},
      {"A=never' ends", "A=…"},
      {"--flag=1 x==y =z", "--flag=1 x=… =z"},
      {"no UTF-8 \xff", "no UTF-8 \\xff"},
      {"two\nlines\x01", "two\\nlines\\x01"},
  };
  for (const auto& row : table) EXPECT_EQ(ShownCommand(row.words), row.shown) << row.words;
}

TEST(ShownCommand, IsCutAndNestsOnlySoFar) {
  EXPECT_LE(ShownCommand(std::string(100'000, 'x')).size(), kMaxShownCommandBytes);
  std::string deep = "go SECRET=1";
  for (int i = 0; i < 6; ++i) deep = (i % 2 == 0 ? "go '" : "go \"") + deep + (i % 2 == 0 ? "'" : "\"");
  EXPECT_EQ(ShownCommand(deep).find("SECRET=1"), std::string::npos) << ShownCommand(deep);
  std::string quotes(100'000, '\'');
  EXPECT_LE(ShownCommand(quotes).size(), kMaxShownCommandBytes);
}

}  // namespace
}  // namespace muster::exec
