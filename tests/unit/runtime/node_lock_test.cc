#include "worker_agent/runtime/node_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "common/log.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

class NodeLockTest : public ::testing::Test {
 protected:
  NodeLockTest() {
    char name[] = "/tmp/muster-node-lock.XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~NodeLockTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<NodeLock> Take(const std::string& node_id = "", const std::string& job = "default",
                                absl::Duration remnants_patience = absl::Seconds(10)) {
    return NodeLock::Take(
        {folder_, "machine", job, "host:8118", node_id, absl::Milliseconds(60), absl::Seconds(10), remnants_patience});
  }

  std::string folder_;
};

TEST_F(NodeLockTest, AgentsWithoutAnIdTakeTheLowestFreeNumber) {
  auto first = Take();
  auto second = Take();
  ASSERT_TRUE(first.ok() && second.ok());
  first->Keep("host-0");
  second->Keep("host-1");
  EXPECT_NE(first->token(), second->token());
  const std::string token = first->token();
  { NodeLock ended = *std::move(first); }
  auto again = Take();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->kept_id(), "host-0");
  EXPECT_EQ(again->token(), token);
  EXPECT_EQ(again->take(), 2U) << "a join of the first one that comes late is told apart by it";
}

TEST_F(NodeLockTest, AfterTheJobsEndTheNextStartIsANewNode) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  lock->Keep("host-0");
  lock->Remove();
  { NodeLock ended = *std::move(lock); }
  auto again = Take();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->kept_id(), "");
}

TEST_F(NodeLockTest, OneNodeIdIsHeldOnceAndAnotherJobsIsItsOwn) {
  auto lock = Take("a");
  ASSERT_TRUE(lock.ok());
  const auto second = Take("a");
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("still runs"));
  EXPECT_TRUE(Take("b").ok());
  EXPECT_TRUE(Take("a", "other").ok());
  { NodeLock ended = *std::move(lock); }
  EXPECT_TRUE(Take("a").ok());
}

// As with a keeper that outlives its agent: the owner is dead, the lock is not free yet.
TEST_F(NodeLockTest, ADyingOwnerIsWaitedForAndItsNumberNotPassedOver) {
  const pid_t agent = fork();
  if (agent == 0) {
    auto lock = Take();
    lock->Keep("host-0");
    if (fork() == 0) {  // the keeper
      usleep(30'000);
      _exit(0);
    }
    _exit(0);
  }
  waitpid(agent, nullptr, 0);
  auto lock = Take();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(lock->kept_id(), "host-0");
}

// Agent and keeper were killed together, and a launcher had started what trains.
TEST_F(NodeLockTest, WhatAFormerStartLeftRunningIsEnded) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  lock->KeepFolder(folder_ + "/kept");
  const std::string token = lock->token();
  const auto start = [](const std::string& progress_file) {
    std::string name = "sleep", seconds = "1000", variable = "MS_PROGRESS_FILE=" + progress_file;
    char* arguments[] = {name.data(), seconds.data(), nullptr};
    char* environment[] = {variable.data(), nullptr};
    pid_t pid = 0;  // (when this returns it has closed the lock)
    EXPECT_EQ(posix_spawn(&pid, "/bin/sleep", nullptr, nullptr, arguments, environment), 0);
    return pid;
  };
  const pid_t left = start(folder_ + "/kept/progress-0"), another = start(folder_ + "/other/progress-0");
  { NodeLock ended = *std::move(lock); }
  const auto again = Take();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->token(), token);
  int status = 0;
  EXPECT_EQ(waitpid(left, &status, 0), left);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(waitpid(another, &status, WNOHANG), 0) << "another start's";
  kill(another, SIGKILL);
  waitpid(another, &status, 0);
}

// Root's agent, whose command goes on as another user (setpriv, runuser, gosu), which clears PR_SET_PDEATHSIG.
TEST_F(NodeLockTest, NobodyVouchesForWhatRunsOnAsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start something as another user";
  constexpr uid_t kNobody = 65534;
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  lock->KeepFolder(folder_ + "/kept");
  const std::string token = lock->token();
  int started[2];
  ASSERT_EQ(pipe2(started, O_CLOEXEC), 0);
  std::string name = "sleep", seconds = "1000", variable = "MS_PROGRESS_FILE=" + folder_ + "/kept/progress-0";
  char* arguments[] = {name.data(), seconds.data(), nullptr};
  char* environment[] = {variable.data(), nullptr};
  const pid_t left = fork();
  if (left == 0) {
    if (setresuid(kNobody, kNobody, kNobody) == 0) execve("/bin/sleep", arguments, environment);
    _exit(1);
  }
  close(started[1]);
  char byte = 0;
  EXPECT_EQ(read(started[0], &byte, 1), 0);  // it has executed: the last writer is gone
  close(started[0]);
  { NodeLock ended = *std::move(lock); }

  testing::internal::CaptureStderr();
  const auto again = Take("", "default", absl::ZeroDuration());
  FlushLog(absl::Seconds(10));
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->token(), token) << "the same ranks would start beside it";
  EXPECT_THAT(said, HasSubstr("pid " + std::to_string(left) + " of uid 65534 (not this user's to kill)"));
  int status = 0;
  EXPECT_EQ(waitpid(left, &status, WNOHANG), 0) << "what a file says that others may have written kills nobody";
  kill(left, SIGKILL);
  waitpid(left, &status, 0);
}

TEST_F(NodeLockTest, OddNamesStayInTheFolderAndApart) {
  auto one = Take("../../x");
  auto other = Take("../../y");
  ASSERT_TRUE(one.ok() && other.ok());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().string(), HasSubstr(folder_));
  }
}

TEST_F(NodeLockTest, AFolderThatCannotBeMadeIsNamed) {
  const auto lock = NodeLock::Take({"/proc/nowhere", "m", "j", "s", "", absl::ZeroDuration(), absl::ZeroDuration()});
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace muster::agent
