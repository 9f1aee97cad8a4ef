// Watches real children of this test.
#include "worker_agent/runtime/activity_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace muster::agent {
namespace {

MonotonicTime At(int seconds) { return MonotonicTime::FromNanoseconds(int64_t{seconds} * 1'000'000'000); }

TEST(TicksIn, CountsUserAndSystemTime) {
  EXPECT_EQ(TicksIn("7 (a ) b) S 1 7 7 0 -1 4194304 1 2 3 4 150 25 8 9 20 0 1 0 99"), 175u);
  EXPECT_EQ(TicksIn("7 (x) S 1"), std::nullopt);
  EXPECT_EQ(TicksIn(""), std::nullopt);
}

TEST(ActivityWatch, LooksAtTheProcessEveryFewSeconds) {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ActivityWatch watch;
  const ProcessKey key{3, 1, 0};
  watch.Watch(key, child, At(100));
  const auto seen = watch.Poll(At(106));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].key, key);
  EXPECT_EQ(seen[0].state, 'T');
  EXPECT_EQ(seen[0].cpu_percent, 0u);
  EXPECT_FALSE(seen[0].has_output);
  EXPECT_TRUE(watch.Poll(At(108)).empty()) << "too early";
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  const auto gone = watch.Poll(At(112));
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].cpu_percent, std::nullopt) << "unknown is not zero";
  watch.Forget(key);
  EXPECT_TRUE(watch.Poll(At(118)).empty());
}

TEST(ActivityWatch, NoticesOutputByItsLength) {
  ActivityWatch watch;
  const ProcessKey key{0, 1, 0};
  watch.Watch(key, getpid(), At(100));
  watch.Poll(At(105));
  const std::vector<OutputWish> wishes = watch.TakeWishes();
  ASSERT_EQ(wishes.size(), 1u);
  EXPECT_EQ(wishes[0].asked_on, 0u);
  OutputRead read;
  read.key = key;
  watch.Take(read, At(105));
  EXPECT_FALSE(watch.Poll(At(110))[0].has_output) << "none has come";
  read.end = 12;
  watch.Take(read, At(110));
  const ActivitySeen seen = watch.Poll(At(115))[0];
  EXPECT_TRUE(seen.has_output);
  EXPECT_EQ(seen.last_output, At(110));
  watch.Take(read, At(115));
  EXPECT_EQ(watch.Poll(At(120))[0].last_output, At(110)) << "nothing new";
  EXPECT_EQ(watch.TakeWishes()[0].after, 12u);
}

}  // namespace
}  // namespace muster::agent
