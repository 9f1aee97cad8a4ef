// The fence of a keeper with real processes: when it falls, all of them end, and no other one starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/client/keeper.h"

namespace muster::agent {
namespace {

using ::testing::IsEmpty;

TEST(Keeper, TheFenceStopsEverythingOnce) {
  TestKeeper keeper;
  keeper.StartShell(0, "exec sleep 1000");
  keeper.WaitStarted(0);
  keeper->SetFence(BootTime() + absl::Milliseconds(100));
  EXPECT_TRUE(keeper.WaitFenceFell());
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.signal, SIGTERM);
  EXPECT_TRUE(ended.end.was_stopped);
  keeper.StartShell(1, "exit 5");
  EXPECT_TRUE(keeper.WaitEnded(1).end.was_stopped) << "others may have its rank";
  keeper->SetFence(MonotonicTime::Never());
  keeper.StartShell(2, "exit 6");
  EXPECT_EQ(keeper.WaitEnded(2).end.exit.code, 6);
  size_t falls = 0;
  for (const KeeperEvent& event : keeper.events()) falls += std::holds_alternative<FenceFell>(event) ? 1 : 0;
  EXPECT_EQ(falls, 1u);
}

TEST(Keeper, TheFenceLeavesLessTimeThanAStop) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  KeeperOptions options;
  options.stop_timeout = absl::Hours(1);
  options.fence_stop_timeout = absl::Milliseconds(200);
  TestKeeper keeper(options);
  for (uint32_t slot = 0; slot < 2; ++slot) {
    keeper.StartShell(slot, absl::StrCat("trap '' TERM; echo ready > ", fifo.path(), "; while :; do sleep 1000; done"));
    EXPECT_EQ(fifo.ReadLine(), "ready");
  }
  keeper->Stop({0, 1, 0});
  const MonotonicTime fence = BootTime() + absl::Milliseconds(100);
  keeper->SetFence(fence);
  EXPECT_TRUE(keeper.WaitFenceFell());
  for (uint32_t slot = 0; slot < 2; ++slot) {
    const Ended ended = keeper.WaitEnded(slot);
    EXPECT_EQ(ended.end.exit.signal, SIGKILL);
    EXPECT_GE(ended.ended_at - fence, absl::Milliseconds(199)) << "also for the one that was stopping before";
    EXPECT_LE(ended.ended_at - fence, absl::Seconds(5));
  }
}

TEST(Keeper, AFenceThatIsMovedOrDisarmedDoesNotFall) {
  TestKeeper keeper;
  keeper->SetFence(BootTime() + absl::Milliseconds(3'600'000));
  keeper.StartShell(0, "exec sleep 0.3");
  keeper->SetFence(BootTime() + absl::Milliseconds(150));
  keeper->SetFence(MonotonicTime::Never());
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.code, 0);
  EXPECT_EQ(keeper.events().size(), 2u);
}

TEST(Keeper, AStartThatCrossesTheFallIsRefused) {
  TestKeeper keeper;
  // The test calls no Poll between SetFence and the second start, so the agent can't know that the fence fell. The
  // fence is due at once, so it has fallen when the first process reports its stop.
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  keeper.StartShell(0, absl::StrCat("trap 'echo stopped > ", fifo.path(), "; exit 0' TERM; echo ready > ", fifo.path(),
                                    "; while :; do sleep 0.01; done"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->SetFence(BootTime());
  EXPECT_EQ(fifo.ReadLine(), "stopped");
  keeper.StartShell(1, "echo must not run");
  const Ended ended = keeper.WaitEnded(1);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_THAT(ended.end.last_lines, IsEmpty());
  EXPECT_TRUE(keeper.WaitFenceFell());
}

// The machine was frozen: by now the ranks run elsewhere.
TEST(Keeper, AFenceThatFellLongAgoLeavesNoTimeToStop) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.StartShell(
      0, absl::StrCat("trap 'echo stopped' TERM; echo ready > ", fifo.path(), "; while :; do sleep 0.01; done"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->SetFence(MonotonicTime::FromNanoseconds(1));
  EXPECT_TRUE(keeper.WaitFenceFell());
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.signal, SIGKILL);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_THAT(ended.end.last_lines, IsEmpty());
}

}  // namespace
}  // namespace muster::agent
