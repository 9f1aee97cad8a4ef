#include "worker_agent/preflight/node_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "common/hosts/compare.h"
#include "worker_agent/preflight/preflight.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

NodeCheckResult CheckBy(const std::string& command, absl::Duration limit = absl::Seconds(60), int cancel_fd = -1) {
  return RunNodeCheck(MakeNodeCheck(command, {{"PATH", getenv("PATH")}, {"WORD", "its own"}}, limit), cancel_fd,
                      Clock::System());
}

TEST(NodeCheck, TakesTheLastLineAndTheScore) {
  struct Row {
    const char* command;
    const char* last_line;
    std::optional<double> score;
  };
  for (const Row& row :
       {Row{"true", "", {}}, Row{"echo one; echo two; echo", "two", {}},
        Row{"echo fine; echo muster-score=12.5", "muster-score=12.5", 12.5},
        Row{"echo muster-score=12.5; echo fine", "fine", {}}, Row{"echo muster-score=nan", "muster-score=nan", {}},
        Row{"echo muster-score=-3", "muster-score=-3", {}}, Row{"echo muster-score=0", "muster-score=0", {}},
        Row{"echo muster-score=1e999", "muster-score=1e999", {}},
        Row{"echo muster-score=fast", "muster-score=fast", {}}, Row{"printf '10 %%\\r 100 %%\\r'", "100 %", {}},
        Row{"echo $WORD", "its own", {}}, Row{"echo to stderr >&2", "to stderr", {}},
        Row{"printf 'red \\033[31m \\377'", "red \\x1b[31m \\xff", {}}}) {
    const NodeCheckResult result = CheckBy(row.command);
    EXPECT_TRUE(result.status.ok()) << row.command << ": " << result.status;
    EXPECT_EQ(result.last_line, row.last_line) << row.command;
    EXPECT_EQ(result.score, row.score) << row.command;
  }
}

TEST(NodeCheck, SaysHowItFailed) {
  struct Row {
    const char* command;
    const char* how;
  };
  for (const Row& row : {Row{"echo GPU 3 has errors; exit 4", "ended with code 4; its last line: GPU 3 has errors"},
                         Row{"exit 4", "ended with code 4"}, Row{"kill -SEGV $$", "was ended by signal 11"},
                         Row{"/nowhere/at/all", "ended with code 127"}}) {
    const NodeCheckResult result = CheckBy(row.command);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition) << row.command;
    EXPECT_THAT(std::string(result.status.message()), HasSubstr(row.how)) << row.command;
  }
  EXPECT_THAT(std::string(CheckBy("echo begins; sleep 1000", absl::Milliseconds(100)).status.message()),
              AllOf(HasSubstr("did not end within"), HasSubstr("begins")));
}

TEST(NodeCheck, KeepsTheEndOfMuchOutput) {
  const NodeCheckResult result = CheckBy("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1");
  EXPECT_EQ(result.last_line, "the end");
  EXPECT_THAT(result.output, AllOf(SizeIs(16 * 1024), EndsWith("x\nthe end\n")));
  const NodeCheckResult garbage = CheckBy("head -c 100000 /dev/urandom; exit 1");
  EXPECT_LE(garbage.last_line.size(), 300u);
  EXPECT_LE(garbage.status.message().size(), 512u);
}

TEST(NodeCheck, IsCutShort) {
  std::array<int, 2> cancel{};
  ASSERT_EQ(pipe(cancel.data()), 0);
  ASSERT_EQ(write(cancel[1], "x", 1), 1);
  EXPECT_TRUE(absl::IsCancelled(CheckBy("sleep 1000", absl::Seconds(60), cancel[0]).status));
  for (const int fd : cancel) close(fd);
}

TEST(NodeCheck, IsAddedToTheNode) {
  AgentSettings settings;
  settings.straggler_ratio = 1.5;
  settings.excludes_stragglers = true;
  v1::NodeInfo node;
  AddNodeCheck(CheckBy("echo muster-score=12.5"), settings, node);
  ASSERT_EQ(node.host_findings_size(), 1);
  EXPECT_EQ(node.host_findings(0).check(), "command");
  EXPECT_EQ(node.host_findings(0).text(), "muster-score=12.5");
  EXPECT_EQ(FactOf(node, kFactNodeCheck), "on");
  EXPECT_EQ(FactOf(node, kFactScore), "12.5");
  EXPECT_EQ(FactOf(node, kFactStragglerRatio), "1.5");
  EXPECT_EQ(FactOf(node, kFactStragglers), kExcluded);

  v1::NodeInfo other;
  AddNodeCheck(CheckBy("true"), settings, other);
  EXPECT_EQ(FactOf(other, kFactNodeCheck), "on");
  EXPECT_EQ(FactOf(other, kFactScore), "");
}

}  // namespace
}  // namespace muster::agent
