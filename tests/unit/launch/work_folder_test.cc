#include "worker_agent/launch/work_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class WorkFolderTest : public ::testing::Test {
 protected:
  std::string UserFolder() const { return base.path() + "/muster-" + std::to_string(geteuid()); }
  const TemporaryFolder base;
};

TEST_F(WorkFolderTest, IsPrivateAndRemovedAtTheEnd) {
  std::string path;
  {
    auto folder = WorkFolder::Create(base.path(), "digits", 0xab);
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = (*folder)->path();
    EXPECT_EQ(path, UserFolder() + "/digits-00000000000000ab");
    EXPECT_EQ(ModeOf(path), 0700u);
    EXPECT_EQ(ModeOf(UserFolder()), 0700u);
    fs::create_directory(path + "/deep");
    std::ofstream(path + "/deep/file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(WorkFolderTest, OddJobIdsStayInside) {
  auto folder = WorkFolder::Create(base.path(), "../../a b\n" + std::string(200, 'x'), 1);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::path((*folder)->path()).parent_path(), UserFolder());
  EXPECT_THAT((*folder)->path(), HasSubstr("/_._.._a_b_x"));
}

TEST_F(WorkFolderTest, LivingAgentsAreLeftAloneAndTheSameNameIsNoObstacle) {
  auto first = WorkFolder::Create(base.path(), "j", 1);
  ASSERT_TRUE(first.ok());
  auto second = WorkFolder::Create(base.path(), "j", 2);
  auto same = WorkFolder::Create(base.path(), "j", 1);
  ASSERT_TRUE(second.ok() && same.ok());
  EXPECT_TRUE(fs::exists((*first)->path()));
  EXPECT_TRUE(fs::exists((*second)->path()));
  EXPECT_NE((*first)->path(), (*same)->path());
}

TEST_F(WorkFolderTest, TheFolderOfAKilledAgentIsCleanedAway) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const auto folder = WorkFolder::Create(base.path(), "dead", 7);
    std::ofstream((*folder)->path() + "/error.json") << "x";
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const std::string dead = UserFolder() + "/dead-0000000000000007";
  fs::create_directory(UserFolder() + "/notes");  // not one of ours
  ASSERT_TRUE(WorkFolder::Create(base.path(), "next", 8).ok());
  EXPECT_TRUE(fs::exists(dead)) << "it lives";
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_TRUE(fs::exists(dead + "/error.json"));
  ASSERT_TRUE(WorkFolder::Create(base.path(), "next", 9).ok());
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(UserFolder() + "/notes"));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(WorkFolderTest, AForkedProcessDoesNotRemoveIt) {
  auto folder = WorkFolder::Create(base.path(), "j", 1);
  ASSERT_TRUE(folder.ok());
  const pid_t pid = fork();
  if (pid == 0) {
    folder->reset();
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  EXPECT_TRUE(fs::exists((*folder)->path()));
}

TEST_F(WorkFolderTest, ASymbolicLinkInItsPlaceIsRefused) {
  const TemporaryFolder elsewhere;
  fs::create_symlink(elsewhere.path(), UserFolder());
  const auto folder = WorkFolder::Create(base.path(), "j", 1);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("TMPDIR"));
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
}

TEST_F(WorkFolderTest, SomebodyElsesFolderIsRefused) {
  fs::create_directory(UserFolder());
  if (chown(UserFolder().c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a folder away";
  const auto folder = WorkFolder::Create(base.path(), "j", 1);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("12345"));
}

TEST_F(WorkFolderTest, AnOpenFolderOfOursIsClosed) {
  fs::create_directory(UserFolder());
  chmod(UserFolder().c_str(), 0777);
  ASSERT_TRUE(WorkFolder::Create(base.path(), "j", 1).ok());
  EXPECT_EQ(ModeOf(UserFolder()), 0700u);
}

TEST_F(WorkFolderTest, AMissingBaseIsNamed) {
  const auto folder = WorkFolder::Create("/nowhere", "j", 1);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("/nowhere/muster-"));
}

TEST(WorkFolderBase, IsTmpdirElseTmp) {
  EXPECT_EQ(WorkFolder::DefaultBase({}), "/tmp");
  EXPECT_EQ(WorkFolder::DefaultBase({{"TMPDIR", ""}}), "/tmp");
  EXPECT_EQ(WorkFolder::DefaultBase({{"TMPDIR", "/scratch"}}), "/scratch");
  EXPECT_EQ(WorkFolder::DefaultBase({{"TMPDIR", "~/tmp"}, {"HOME", "/home/ada"}}), "/home/ada/tmp");
  EXPECT_EQ(WorkFolder::DefaultBase({{"TMPDIR", "tmp"}}), std::filesystem::current_path().string() + "/tmp");
}

}  // namespace
}  // namespace muster::agent
