#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker_agent/gateway/mpi/mpi_end.h"

namespace muster::agent {
namespace {

pid_t Sleeper() {
  const pid_t pid = fork();
  if (pid == 0) {
    while (true) pause();
  }
  return pid;
}

bool WasKilled(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(RankEnderTest, EndsARunningRank) {
  RankEnder ender;
  const pid_t pid = Sleeper();
  ender.Started(0, pid);
  ender.End(0);
  EXPECT_TRUE(WasKilled(pid));
  EXPECT_TRUE(ender.Ended(0));
  ender.End(0);  // belongs to no rank
}

TEST(RankEnderTest, EndsARankThatMustEndBeforeItIsKnown) {
  RankEnder ender;
  const pid_t pid = Sleeper();
  ender.End(1);
  ender.Started(1, pid);
  EXPECT_TRUE(WasKilled(pid));
}

TEST(RankEnderTest, LeavesTheOthersAlone) {
  RankEnder ender;
  const pid_t pid = Sleeper();
  ender.Started(0, pid);
  ender.End(1);
  EXPECT_FALSE(ender.Ended(0));
  ender.End(0);
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  kill(pid, SIGKILL);
  EXPECT_TRUE(WasKilled(pid));
}

}  // namespace
}  // namespace muster::agent
