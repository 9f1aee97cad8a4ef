#include "common/base/exit_status.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gtest/gtest.h"

namespace muster {
namespace {

ExitStatus StatusOf(void (*end)()) {
  const pid_t pid = fork();
  if (pid == 0) {
    end();
    _exit(99);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return ExitStatus::FromWaitStatus(status);
}

TEST(ExitStatus, ShowsCodeOrSignal) {
  const ExitStatus good = StatusOf([] { _exit(0); });
  EXPECT_TRUE(good.IsSuccess());
  EXPECT_EQ(good.AsExitCode(), 0);
  const ExitStatus failed = StatusOf([] { _exit(7); });
  EXPECT_EQ(failed, (ExitStatus{7, 0}));
  EXPECT_FALSE(failed.IsSuccess());
  EXPECT_EQ(failed.AsExitCode(), 7);
  const ExitStatus killed = StatusOf([] { raise(SIGKILL); });
  EXPECT_EQ(killed, (ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(killed.IsSuccess());
  EXPECT_EQ(killed.AsExitCode(), 137);
}

}  // namespace
}  // namespace muster
