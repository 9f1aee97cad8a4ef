// Runs' logs: folders, links and pruning, in real folders.
#include "worker_agent/keeper/files/run_logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "support.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kFirstMs = 1'795'571'520'000;  // 2026-11-25T01:52:00Z

class RunLogsTest : public ::testing::Test {
 protected:
  // The n-th run; each is a minute after the one before.
  RunFolder Run(int n, uint32_t keep = 10) const {
    return {base_, "job", RunFolderName(1, kFirstMs + n * kMinuteMs), keep};
  }

  // Begins the run and writes a log, like a keeper that has ended since then.
  void Play(const RunFolder& run, const std::string& name = "worker_0.log") const {
    RunLogs logs;
    EXPECT_EQ(logs.Begin(run), "");
    Write(run.path() + "/" + name, run.name);
    EXPECT_EQ(logs.LinkNewest(run.path() + "/" + name), "");
  }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  // Makes the folder look as if nothing had been written there for two hours.
  static void Age(const RunFolder& run) {
    for (const auto& entry : fs::directory_iterator(run.path())) {
      const timespec old{std::time(nullptr) - 7200, 0};
      const timespec times[] = {old, old};
      ::utimensat(AT_FDCWD, entry.path().c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
  }

  std::vector<std::string> Runs() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(base_ + "/job")) {
      if (!entry.is_symlink()) names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string Target(const std::string& link) const { return fs::read_symlink(base_ + "/" + link); }

  TempFolder folder_;
  const std::string base_ = folder_.Path("logs");
};

TEST_F(RunLogsTest, AFolderIsNamedByTheRunAndItsTime) {
  EXPECT_EQ(RunFolderName(3, kFirstMs), "3-20261125T015200.000Z");
  EXPECT_EQ(RunFolderName(1, kFirstMs + 45), "1-20261125T015200.045Z") << "another run of the same second";
  for (const int64_t absurd : {int64_t{-5}, int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(RunFolderName(1, absurd), "1-19700101T000000.000Z");
  }
}

TEST_F(RunLogsTest, LinksLeadToTheNewestRunAndItsFiles) {
  Play(Run(0));
  Play(Run(0), "failure.json");
  EXPECT_EQ(Target("failure.json"), "job/" + Run(0).name + "/failure.json");
  Play(Run(1));
  EXPECT_EQ(Target("job/latest"), Run(1).name);
  EXPECT_EQ(Target("worker_0.log"), "job/" + Run(1).name + "/worker_0.log");
  EXPECT_EQ(ReadWholeFile(base_ + "/worker_0.log"), Run(1).name);
  EXPECT_EQ(ReadWholeFile(Run(0).path() + "/worker_0.log"), Run(0).name) << "nothing is overwritten";
  EXPECT_FALSE(fs::exists(fs::symlink_status(base_ + "/failure.json"))) << "the newest run has not failed";
  EXPECT_TRUE(fs::exists(Run(0).path() + "/failure.json"));
}

TEST_F(RunLogsTest, AnOlderRunTakesNoLinkFromANewerOne) {
  Play(Run(1));
  Play(Run(0));
  EXPECT_EQ(Target("job/latest"), Run(1).name);
  EXPECT_EQ(Target("worker_0.log"), "job/" + Run(1).name + "/worker_0.log");
}

TEST_F(RunLogsTest, ForeignFilesAndLinksStay) {
  fs::create_directories(base_ + "/worker_1.log");
  Write(folder_.Path("precious"), "precious");
  fs::create_symlink(folder_.Path("precious"), base_ + "/worker_2.log");
  Write(base_ + "/worker_3.log", "of Muster 0.1");
  RunLogs logs;
  EXPECT_EQ(logs.Begin(Run(0)), "");
  for (const char* name : {"worker_1.log", "worker_2.log"}) {
    EXPECT_THAT(logs.LinkNewest(Run(0).path() + "/" + name), HasSubstr("remove it")) << name;
  }
  EXPECT_EQ(logs.LinkNewest(Run(0).path() + "/worker_3.log"), "");
  EXPECT_EQ(logs.LinkNewest(base_ + "/elsewhere/worker_4.log"), "");
  EXPECT_TRUE(fs::is_directory(base_ + "/worker_1.log"));
  EXPECT_EQ(Target("worker_2.log"), folder_.Path("precious"));
  EXPECT_EQ(ReadWholeFile(folder_.Path("precious")), "precious");
  EXPECT_EQ(ReadWholeFile(base_ + "/worker_3.log.old"), "of Muster 0.1");
  EXPECT_TRUE(fs::is_symlink(base_ + "/worker_3.log"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(base_ + "/worker_4.log")));
}

TEST_F(RunLogsTest, NamesOfMustersOwnAreTaken) {
  for (const char* name : {"worker_0.log", "server_12.log", "failure.json", "worker_0.log.old", "failure.json.old",
                           "scheduler.log", ".muster-link-7-1.2"}) {
    EXPECT_TRUE(IsTakenInBase(name)) << name;
  }
  for (const char* name : {"default", "worker_0", "worker_.log", "worker_x.log", "latest", "train.log", "old", ".old",
                           "worker_0.log.older", "myworker_0.log"}) {
    EXPECT_FALSE(IsTakenInBase(name)) << name;
  }
}

TEST_F(RunLogsTest, OldRunsGoAndWithThemTheLinksThatLedThere) {
  Play(Run(0), "worker_7.log");
  for (int n = 1; n < 4; ++n) Play(Run(n));
  for (int n = 0; n < 4; ++n) Age(Run(n));
  Play(Run(4, 3));
  EXPECT_THAT(Runs(), ElementsAre(Run(2).name, Run(3).name, Run(4).name));
  EXPECT_FALSE(fs::exists(fs::symlink_status(base_ + "/worker_7.log")));
  EXPECT_EQ(Target("job/latest"), Run(4).name);
}

TEST_F(RunLogsTest, ZeroKeepsAll) {
  for (int n = 0; n < 3; ++n) Play(Run(n));
  for (int n = 0; n < 3; ++n) Age(Run(n));
  Play(Run(3, 0));
  EXPECT_EQ(Runs().size(), 4u);
}

TEST_F(RunLogsTest, WhatWasWrittenToWithinTheHourStays) {
  for (int n = 0; n < 3; ++n) Play(Run(n));
  Age(Run(0));
  Write(Run(0).path() + "/worker_0.log", "still");
  Play(Run(3, 1));
  EXPECT_EQ(Runs().size(), 4u);
}

TEST_F(RunLogsTest, WhatSomebodyWritesToStays) {
  RunLogs writing;  // of a keeper that is alive
  EXPECT_EQ(writing.Begin(Run(0)), "");
  Play(Run(1));
  Age(Run(0));
  Age(Run(1));
  Play(Run(2, 1));
  EXPECT_THAT(Runs(), ElementsAre(Run(0).name, Run(2).name));
}

TEST_F(RunLogsTest, WhatHasNoMarkerOrHoldsOtherThingsStaysAndDoesNotCount) {
  for (int n = 0; n < 5; ++n) Play(Run(n));
  fs::remove(Run(0).path() + "/.muster-run");
  Write(Run(1).path() + "/checkpoint.pt", "weights");
  fs::create_directory(Run(2).path() + "/worker_5.log");
  for (int n = 0; n < 5; ++n) Age(Run(n));
  Write(folder_.Path("precious"), "precious");
  fs::create_directories(folder_.Path("away"));
  Write(folder_.Path("away/.muster-run"), "");
  fs::create_symlink(folder_.Path("away"), base_ + "/job/" + RunFolderName(1, kFirstMs - kMinuteMs));
  fs::create_directories(base_ + "/job/notes");
  Play(Run(5, 1));
  EXPECT_THAT(Runs(), ElementsAre(Run(0).name, Run(1).name, Run(2).name, Run(5).name, "notes"));
  EXPECT_TRUE(fs::exists(Run(1).path() + "/worker_0.log")) << "it stays whole";
  EXPECT_TRUE(fs::exists(folder_.Path("away/.muster-run"))) << "no link is followed";
}

TEST_F(RunLogsTest, AMarkerThatIsALinkIsNone) {
  Play(Run(0));
  Write(folder_.Path("precious"), "precious");
  fs::remove(Run(0).path() + "/.muster-run");
  fs::create_symlink(folder_.Path("precious"), Run(0).path() + "/.muster-run");
  Age(Run(0));
  Play(Run(1, 1));
  EXPECT_THAT(Runs(), ElementsAre(Run(0).name, Run(1).name));
  RunLogs logs;
  EXPECT_THAT(logs.Begin(Run(0)), HasSubstr("--keep_logs")) << "it is not marked through the link";
}

TEST_F(RunLogsTest, AnotherUsersFolderStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  Play(Run(0));
  Play(Run(1));
  Age(Run(0));
  Age(Run(1));
  ASSERT_EQ(::chown(Run(0).path().c_str(), 65534, 65534), 0);
  Play(Run(2, 1));
  EXPECT_THAT(Runs(), ElementsAre(Run(0).name, Run(2).name));
}

TEST_F(RunLogsTest, RootPrunesNothingWhereOthersMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "for root only";
  Play(Run(0));
  Age(Run(0));
  fs::permissions(base_, fs::perms::all);
  Play(Run(1, 1));
  EXPECT_EQ(Runs().size(), 2u);
}

TEST_F(RunLogsTest, SeveralNodesBeginAndPruneAtOnce) {
  for (int n = 0; n < 30; ++n) {
    Play(Run(n), absl::StrCat("worker_", n, ".log"));
    Age(Run(n));
  }
  std::vector<pid_t> nodes;
  for (int node = 0; node < 4; ++node) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      RunLogs logs;
      const RunFolder run = Run(30, 2);
      std::string said = logs.Begin(run);
      for (int i = 0; i < 100; ++i) {
        const std::string path = absl::StrCat(run.path(), "/worker_", node, ".log");
        Write(path, "x");
        absl::StrAppend(&said, logs.LinkNewest(path));
      }
      std::fputs(said.c_str(), stderr);
      ::_exit(said.empty() ? 0 : 1);
    }
    nodes.push_back(pid);
  }
  for (const pid_t pid : nodes) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(Runs(), ElementsAre(Run(29).name, Run(30).name));
  EXPECT_EQ(Target("job/latest"), Run(30).name);
  for (int node = 0; node < 4; ++node) {
    EXPECT_EQ(Target(absl::StrCat("worker_", node, ".log")),
              absl::StrCat("job/", Run(30).name, "/worker_", node, ".log"));
  }
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(base_)) {
    if (entry.path().filename().string().starts_with(".muster-link")) left.push_back(entry.path());
  }
  EXPECT_THAT(left, IsEmpty());
}

TEST_F(RunLogsTest, AFolderThatIsBeingPrunedIsMadeAgain) {
  Play(Run(0));
  const UniqueFd pruner(::open((Run(0).path() + "/.muster-run").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(pruner.get(), LOCK_EX), 0);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(Run(0).path())) files.push_back(entry.path());
  const pid_t node = ::fork();
  ASSERT_GE(node, 0);
  if (node == 0) {
    RunLogs logs;
    ::_exit(logs.Begin(Run(0)).empty() ? 0 : 1);
  }
  // Removes files one by one, as pruning does: fs::remove_all would also remove files that are new.
  for (const fs::path& file : files) fs::remove(file);
  ::rmdir(Run(0).path().c_str());
  ::flock(pruner.get(), LOCK_UN);
  int status = -1;
  ::waitpid(node, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(Run(0).path() + "/.muster-run"));
}

}  // namespace
}  // namespace muster::agent
