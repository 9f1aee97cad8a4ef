// Where the ranks of a job that stands still are, and which one the others seem to wait for.
#include "scheduler/core/facts/stack_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Stacks = std::map<uint32_t, v1::RankStack>;

void Add(Stacks& stacks, uint32_t rank, const std::string& method, const std::string& text, bool is_stopped = false) {
  v1::RankStack& stack = stacks[rank];
  stack.set_rank(rank);
  stack.mutable_stack()->set_method(method);
  stack.mutable_stack()->set_text(text);
  stack.mutable_stack()->set_is_stopped(is_stopped);
}

std::string PySpy(const std::string& frames) {
  return absl::StrCat(
      "Process 12: python3 train.py\nPython v3.11.2 (/usr/bin/python3.11)\n\n"
      "Thread 13 (idle): \"Thread-1\"\n    select (selectors.py:416)\n\n"
      "Thread 12 (idle): \"MainThread\"\n",
      frames);
}

const char kInAllReduce[] =
    "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n    wrapper (torch/distributed/c10d_logger.py:81)\n"
    "    main (train.py:50)\n    <module> (train.py:80)\n";
const char kInLoader[] = "    __getitem__ (data/dataset.py:88)\n    main (train.py:44)\n    <module> (train.py:80)\n";

TEST(StackGroups, TheOneAtADifferentPlaceIsTheSuspect) {
  Stacks stacks;
  for (uint32_t rank = 0; rank < 8; ++rank) Add(stacks, rank, "py-spy", PySpy(rank == 5 ? kInLoader : kInAllReduce));
  const auto groups = GroupStacks(stacks);
  ASSERT_EQ(groups.size(), 2u);
  const StackFinding finding = JudgeGroups(groups, stacks.size());
  EXPECT_EQ(finding.text, "rank 5 is at a different place: __getitem__ (dataset.py:88), called at train.py:44");
  EXPECT_EQ(finding.suspect, 5u);
  EXPECT_THAT(GroupLines(groups, 4),
              ElementsAre("ranks 0-4,6-7: all_reduce (distributed_c10d.py:2806), called at train.py:50",
                          "rank 5: __getitem__ (dataset.py:88), called at train.py:44"));
}

TEST(StackGroups, OneOfTwoThatIsInNoCollectiveIsTheSuspect) {
  Stacks stacks;
  Add(stacks, 0, "py-spy", PySpy(kInLoader));
  Add(stacks, 1, "py-spy", PySpy(kInAllReduce));
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), stacks.size()).suspect, 0u);
}

TEST(StackGroups, AllAtOnePlacePointToADeviceOrTheNetwork) {
  Stacks stacks;
  for (uint32_t rank = 0; rank < 4; ++rank) Add(stacks, rank, "py-spy", PySpy(kInAllReduce));
  const StackFinding finding = JudgeGroups(GroupStacks(stacks), stacks.size());
  EXPECT_THAT(finding.text, HasSubstr("all 4 ranks are at the same place: all_reduce (distributed_c10d.py:2806)"));
  EXPECT_THAT(finding.text, HasSubstr("a device or the network"));
  EXPECT_EQ(finding.suspect, std::nullopt);
}

TEST(StackGroups, AStoppedOneIsTheSuspect) {
  Stacks stacks;
  Add(stacks, 0, "py-spy", PySpy(kInLoader));
  Add(stacks, 1, "kernel", "python3: T (stopped)\n", true);
  const StackFinding finding = JudgeGroups(GroupStacks(stacks), stacks.size());
  EXPECT_EQ(finding.text, "rank 1 is stopped, by a signal or a debugger");
  EXPECT_EQ(finding.suspect, 1u);
}

TEST(StackGroups, FaulthandlersTextIsRead) {
  Stacks stacks;
  const auto text = [](const char* line) {
    return absl::StrCat(
        "Thread 0x00007f3 (most recent call first):\n  File \"/usr/lib/python3.11/threading.py\", line "
        "320 in wait\n\nCurrent thread 0x00007f4 (most recent call first):\n  File \"/srv/",
        line, "\n  File \"/srv/train.py\", line 9 in <module>\n");
  };
  Add(stacks, 0, "faulthandler", text("lib/gather.py\", line 7 in all_gather"));
  Add(stacks, 1, "faulthandler", text("dataset.py\", line 88 in load"));
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), stacks.size()).text,
            "rank 1 is at a different place: load (dataset.py:88), called at train.py:9");
}

TEST(StackGroups, WithoutPythonsStacksTheKernelsStatesCount) {
  Stacks stacks;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    Add(stacks, rank, "kernel", "python3: S (sleeping), waits in futex_wait_queue\n3 threads:\n  1 python3: S\n");
  }
  Add(stacks, 3, "kernel", "python3: S (sleeping), waits in pipe_read\n");
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), stacks.size()).text,
            "rank 3 is at a different place: waiting in pipe_read");
  Add(stacks, 3, "kernel", "python3: R (running)\n");
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), stacks.size()).text,
            "rank 3 is at a different place: running on a processor");
  Add(stacks, 3, "kernel", "python3: D (disk sleep), waits in nfs_wait_bit_killable\n");
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), stacks.size()).text,
            "rank 3 is at a different place: uninterruptible in nfs_wait_bit_killable");
}

TEST(StackGroups, WithoutAllStacksNoDeviceIsBlamed) {
  Stacks stacks;
  for (uint32_t rank = 0; rank < 3; ++rank) Add(stacks, rank, "py-spy", PySpy(kInAllReduce));
  const StackFinding finding = JudgeGroups(GroupStacks(stacks), 4);
  EXPECT_EQ(finding.text,
            "ranks 0-2 are at the same place: all_reduce (distributed_c10d.py:2806), called at "
            "train.py:50; the place of 1 other rank is not known");
}

TEST(StackGroups, KernelsAndPythonsStacksAreNotCompared) {
  Stacks stacks;
  for (uint32_t rank = 0; rank < 3; ++rank) Add(stacks, rank, "py-spy", PySpy(kInAllReduce));
  Add(stacks, 3, "kernel", "python3: S (sleeping), waits in futex_wait_queue\n");
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), 4).suspect, std::nullopt);
  Add(stacks, 3, "kernel", "python3: D (disk sleep), waits in nfs_wait_bit_killable\n");
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), 4).suspect, 3u);
}

TEST(StackGroups, AScriptsNameMakesNoCollective) {
  Stacks stacks;
  Add(stacks, 0, "py-spy", PySpy("    load (train_all_reduce.py:7)\n    <module> (train_all_reduce.py:80)\n"));
  Add(stacks, 1, "py-spy", PySpy(kInAllReduce));
  EXPECT_EQ(JudgeGroups(GroupStacks(stacks), 2).suspect, 0u);
}

TEST(StackGroups, TextThatIsNoStackIsLeftOut) {
  Stacks stacks;
  Add(stacks, 0, "py-spy", "");
  Add(stacks, 1, "py-spy", "Error: Permission denied");
  Add(stacks, 2, "", "");
  Add(stacks, 3, "py-spy", PySpy("    (:)\n    f (a.py:)\n    f (:3)\n  File \"\", line  in \n"));
  Add(stacks, 4, "kernel", "no colon");
  for (const StackGroup& group : GroupStacks(stacks)) EXPECT_LE(group.place.size(), 160u);
  EXPECT_EQ(JudgeGroups({}, 4).text, "");
}

}  // namespace
}  // namespace muster::scheduler
