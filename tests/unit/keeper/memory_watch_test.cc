#include "worker_agent/keeper/process/memory_watch.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

constexpr ExitStatus kKilled{0, SIGKILL};
constexpr ExitStatus kFailed{1, 0};
constexpr int64_t kPid = 1234;

class MemoryWatchTest : public testing::Test {
 protected:
  // For version 2: /job has the limit, /job/step is the group.
  void Count(uint64_t kills) {
    root_.Write("job/step/memory.events",
                "low 0\nhigh 0\nmax 12\noom 3\noom_kill " + std::to_string(kills) + "\noom_group_kill 0\n");
  }
  MemoryWatch InStep() const { return MemoryWatch("0::/job/step\n", root_.path()); }

  TemporaryFolder root_;
};

TEST_F(MemoryWatchTest, AProcessKilledWhileItIsCountedWasShortOfMemory) {
  Count(5);
  root_.Write("job/step/memory.max", "max\n");
  root_.Write("job/memory.max", "536870912\n");
  root_.Write("job/memory.peak", "536866816\n");
  MemoryWatch watch = InStep();
  const MemoryWatch::Mark start = watch.Now();
  Count(6);
  const MemoryEnd end = watch.Judge(start, kKilled, kPid);
  EXPECT_TRUE(end.was_short);
  EXPECT_EQ(end.limit_bytes, 536870912u);
  EXPECT_EQ(end.peak_bytes, 536866816u);
}

TEST_F(MemoryWatchTest, TheLowestLimitIsReported) {
  Count(0);
  root_.Write("job/step/memory.max", "1000\n");
  root_.Write("job/step/memory.peak", "999\n");
  root_.Write("job/memory.max", "2000\n");
  MemoryWatch watch = InStep();
  const MemoryWatch::Mark start = watch.Now();
  Count(1);
  const MemoryEnd end = watch.Judge(start, kKilled, kPid);
  EXPECT_EQ(end.limit_bytes, 1000u);
  EXPECT_EQ(end.peak_bytes, 999u);
}

TEST_F(MemoryWatchTest, AKillByHandIsNotBlamedOnAnOldOne) {
  Count(5);
  MemoryWatch watch = InStep();
  EXPECT_FALSE(watch.Judge(watch.Now(), kKilled, kPid).was_short);
}

TEST_F(MemoryWatchTest, EachCountIsBlamedOnce) {
  Count(0);
  MemoryWatch watch = InStep();
  const MemoryWatch::Mark first = watch.Now(), second = watch.Now(), third = watch.Now();
  Count(2);
  EXPECT_TRUE(watch.Judge(first, kKilled, kPid).was_short);
  EXPECT_TRUE(watch.Judge(second, kFailed, kPid).was_short) << "a process that it had started was killed";
  EXPECT_FALSE(watch.Judge(third, kFailed, kPid).was_short) << "it only failed when its peers were gone";
  const MemoryWatch::Mark later = watch.Now();
  Count(3);
  EXPECT_TRUE(watch.Judge(later, kKilled, kPid).was_short);
}

TEST_F(MemoryWatchTest, AGoodEndIsJustThat) {
  Count(0);
  MemoryWatch watch = InStep();
  const MemoryWatch::Mark start = watch.Now();
  Count(1);
  EXPECT_FALSE(watch.Judge(start, {}, kPid).was_short);
}

TEST_F(MemoryWatchTest, WithoutCountersNothingIsReported) {
  for (const char* groups : {"0::/job/step\n", "", "rubbish", "0::\n", "4:memory:/job\n"}) {
    MemoryWatch watch(groups, root_.path());
    const MemoryWatch::Mark start = watch.Now();
    EXPECT_FALSE(start.kills.has_value()) << groups;
    EXPECT_FALSE(watch.Judge(start, kKilled, kPid).was_short) << groups;
  }
}

TEST_F(MemoryWatchTest, CountersThatVanishOrGoBackShowNothing) {
  Count(5);
  MemoryWatch watch = InStep();
  const MemoryWatch::Mark start = watch.Now();
  Count(4);
  EXPECT_FALSE(watch.Judge(start, kKilled, kPid).was_short);
  std::filesystem::remove_all(root_.path() + "/job");
  EXPECT_FALSE(watch.Judge(start, kKilled, kPid).was_short);
}

TEST_F(MemoryWatchTest, Version1CountsWhereItHasTheMemory) {
  const auto count = [&](int kills) {
    root_.Write("memory/job/memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(kills) + "\n");
  };
  count(1);
  root_.Write("memory/job/memory.limit_in_bytes", "67108864\n");
  root_.Write("memory/job/memory.max_usage_in_bytes", "67108864\n");
  root_.Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  for (const char* groups : {"9:name=systemd:/x\n4:memory:/job\n0::/y\n", "0::/y\n4:memory,hugetlb:/job\n"}) {
    MemoryWatch watch(groups, root_.path());
    count(1);
    const MemoryWatch::Mark start = watch.Now();
    count(2);
    const MemoryEnd end = watch.Judge(start, kKilled, kPid);
    EXPECT_TRUE(end.was_short);
    EXPECT_EQ(end.limit_bytes, 67108864u);
    EXPECT_EQ(end.peak_bytes, 67108864u);
  }
}

TEST_F(MemoryWatchTest, WithoutALimitItIsTheMachines) {
  root_.Write("memory/memory.oom_control", "oom_kill 0\n");
  root_.Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  MemoryWatch watch("4:memory:/\n", root_.path());
  const MemoryWatch::Mark start = watch.Now();
  root_.Write("memory/memory.oom_control", "oom_kill 1\n");
  const MemoryEnd end = watch.Judge(start, kKilled, kPid);
  EXPECT_TRUE(end.was_short);
  EXPECT_EQ(end.limit_bytes, 0u);
}

// A container sees its own group as the root, but under the name that the group has outside.
TEST_F(MemoryWatchTest, TheNearestGroupThatIsThereCounts) {
  root_.Write("memory.events", "oom_kill 0\n");
  root_.Write("memory.max", "1000\n");
  MemoryWatch watch("0::/docker/abc\n", root_.path());
  const MemoryWatch::Mark start = watch.Now();
  root_.Write("memory.events", "oom_kill 1\n");
  EXPECT_EQ(watch.Judge(start, kKilled, kPid).limit_bytes, 1000u);
}

TEST_F(MemoryWatchTest, WithoutCountersTheKernelsLogNamesTheKilled) {
  const std::string log = root_.Write("kmsg", "");
  MemoryWatch watch("", root_.path(), log);
  MemoryWatch::Mark start = watch.Now();
  EXPECT_GT(start.us, 0u);
  start.us = 5'000'000'000;
  const std::string later = "5000000001", before = "4000000000";
  const auto say = [&](const std::string& us, const std::string& text) {
    root_.Write("kmsg", "6,338," + us + ",-;oom_reaper: reaped\n3,339," + us + ",-;" + text + "\n SUBSYSTEM=memory\n");
  };
  const std::string killed = "Out of memory: Killed process 1234 (python3) total-vm:1049600kB, anon-rss:900000kB";
  say(later, killed);
  EXPECT_TRUE(watch.Judge(start, kKilled, kPid).was_short);
  EXPECT_FALSE(watch.Judge(start, kKilled, 123).was_short);
  EXPECT_FALSE(watch.Judge(start, kFailed, kPid).was_short);
  say(before, killed);
  EXPECT_FALSE(watch.Judge(start, kKilled, kPid).was_short) << "another process had the number then";
  say(later, "Memory cgroup out of memory: Killed process 1234 (python3) total-vm:1049600kB");
  EXPECT_TRUE(watch.Judge(start, kKilled, kPid).was_short);
  say(later, "Killed process 1234 (python3) by hand");
  EXPECT_FALSE(watch.Judge(start, kKilled, kPid).was_short);
  EXPECT_FALSE(MemoryWatch("", root_.path(), root_.path() + "/none").Judge(start, kKilled, kPid).was_short);
}

}  // namespace
}  // namespace muster::agent
