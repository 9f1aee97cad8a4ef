// The rules for output (--expect, --fail_on), with real processes through a keeper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "support.h"

namespace muster::agent {
namespace {

KeeperOptions WithRules(std::vector<std::string> expect, std::vector<std::string> fail_on = {}) {
  KeeperOptions options;
  options.stop_timeout = absl::Milliseconds(200);
  options.rules = *OutputRules::Compile({std::move(expect), std::move(fail_on)});
  return options;
}

const OutputSeen* LastSeen(const TestKeeper& keeper, uint32_t slot) {
  const OutputSeen* last = nullptr;
  for (const KeeperEvent& event : keeper.events()) {
    const auto* seen = std::get_if<OutputSeen>(&event);
    if (seen != nullptr && seen->key.slot == slot) last = seen;
  }
  return last;
}

TEST(KeeperRules, TheAgentHearsOfProgressByOutput) {
  TestKeeper keeper(WithRules({R"(step (\d+))"}));
  keeper.StartShell(0, "echo step 1; echo nothing; echo step 2; exec sleep 1000");
  ASSERT_TRUE(keeper.WaitUntil([&] {
    const OutputSeen* seen = LastSeen(keeper, 0);
    return seen != nullptr && seen->step == 2;
  }));
  EXPECT_EQ(LastSeen(keeper, 0)->changes, 2u);
}

TEST(KeeperRules, AFloodOfStepsIsReportedAtMostTwiceASecond) {
  TestKeeper keeper(WithRules({R"(step (\d+))"}));
  keeper.StartShell(0, "i=0; while [ $i -lt 20000 ]; do echo step $i; i=$((i+1)); done; sleep 0.6; echo step last");
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.code, 0);
  const auto reports = std::count_if(keeper.events().begin(), keeper.events().end(), [](const KeeperEvent& event) {
    return std::holds_alternative<OutputSeen>(event);
  });
  EXPECT_GE(reports, 1);
  EXPECT_LE(reports, 60) << "one for each half second, not one for each step";
}

TEST(KeeperRules, ALineThatFailsEndsTheProcess) {
  TestKeeper keeper(WithRules({}, {"fatal"}));
  keeper.StartShell(0, "echo before; echo 'fatal: no more bread' >&2; exec sleep 1000");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.failing_line, "fatal: no more bread");
  EXPECT_EQ(ended.end.exit.signal, SIGTERM);
  EXPECT_FALSE(ended.end.was_stopped) << "it failed: nobody asked for its end";
  EXPECT_TRUE(ended.end.HasFailedByItself());
  EXPECT_THAT(ended.end.last_lines, ::testing::Contains("fatal: no more bread"));
}

TEST(KeeperRules, AProcessThatTakesTheSignalForItsEndHasFailed) {
  TestKeeper keeper(WithRules({}, {"fatal"}));
  keeper.StartShell(0, "trap 'exit 0' TERM; echo fatal; while :; do sleep 0.01; done");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.failing_line, "fatal");
  EXPECT_EQ(ended.end.exit.code, 1);
}

TEST(KeeperRules, OneThatIgnoresTheSignalIsKilled) {
  TestKeeper keeper(WithRules({}, {"fatal"}));
  keeper.StartShell(0, "trap '' TERM; echo fatal; while :; do sleep 1000; done");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.signal, SIGKILL);
  EXPECT_EQ(ended.end.failing_line, "fatal");
}

TEST(KeeperRules, OneThatEndsWithItsLastLineHasFailedToo) {
  TestKeeper keeper(WithRules({}, {"fatal"}));
  keeper.StartShell(0, "printf fatal");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.failing_line, "fatal");
  EXPECT_EQ(ended.end.exit.code, 1);
}

TEST(KeeperRules, AProcessThatWasStoppedHasNotFailed) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper(WithRules({}, {"fatal"}));
  keeper.StartShell(
      0, absl::StrCat("trap 'echo fatal; exit 0' TERM; echo ready > ", fifo.path(), "; while :; do sleep 0.01; done"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->StopAll();
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_EQ(ended.end.failing_line, "");
  EXPECT_EQ(ended.end.exit.code, 0);
}

TEST(KeeperRules, OtherProcessesGoOn) {
  TestKeeper keeper(WithRules({}, {"fatal"}));
  keeper.StartShell(0, "exec sleep 1000");
  keeper.WaitStarted(0);
  keeper.StartShell(1, "echo fatal; exec sleep 1000");
  EXPECT_EQ(keeper.WaitEnded(1).end.failing_line, "fatal");
  keeper->StopAll();
  EXPECT_TRUE(keeper.WaitEnded(0).end.was_stopped);
}

}  // namespace
}  // namespace muster::agent
