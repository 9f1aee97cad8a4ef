#include "worker_agent/node/node_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/base/sha256.h"
#include "common/sys/log.h"
#include "tests/unit/runtime/unreadable_process.h"
#include "worker_agent/node/lock_record.h"
#include "worker_agent/node/orphans.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class NodeLockTest : public ::testing::Test {
 protected:
  NodeLockTest() {
    char name[] = "/tmp/muster-node-lock.XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~NodeLockTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<NodeLock> Take(const std::string& node_id = "", const std::string& job = "default",
                                absl::Duration orphans_patience = absl::Seconds(10)) {
    return NodeLock::Take(
        {folder_, "machine", job, "host:8118", node_id, absl::Milliseconds(60), absl::Seconds(10), orphans_patience});
  }

  absl::StatusOr<NodeLock> TakeAt(const StartPlace& place, const std::string& job, const std::string& node_id) {
    return NodeLock::Take({folder_, "machine", job, "host:8118", node_id, absl::Milliseconds(60), absl::Seconds(10),
                           absl::ZeroDuration(), place});
  }

  // Without patience for what is left; and what it has said.
  std::pair<absl::StatusOr<NodeLock>, std::string> TakeAndListen() {
    testing::internal::CaptureStderr();
    auto lock = Take("", "default", absl::ZeroDuration());
    FlushLog(absl::Seconds(10));
    return {std::move(lock), testing::internal::GetCapturedStderr()};
  }

  // (When this returns it has closed the lock.)
  static pid_t StartSleep(std::string variable) {
    std::string name = "sleep", seconds = "1000";
    char* arguments[] = {name.data(), seconds.data(), nullptr};
    char* environment[] = {variable.data(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, "/bin/sleep", nullptr, nullptr, arguments, environment), 0);
    return pid;
  }

  // Of job "default" and scheduler "host:8118".
  static std::string JobFolder() {
    return "default_host_8118-" + absl::BytesToHexString(Sha256("default@host:8118")).substr(0, 16);
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
  lock->KeepFolder(folder_ + "/muster/kept");
  const std::string token = lock->token();
  const pid_t left = StartSleep("MUSTER_START=" + lock->secret());
  const pid_t another = StartSleep("MUSTER_START=another");
  const pid_t of_its_folder = StartSleep("MS_PROGRESS_FILE=" + folder_ + "/muster/kept/progress-0");
  { NodeLock ended = *std::move(lock); }
  const auto again = Take();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->token(), token);
  int status = 0;
  EXPECT_EQ(waitpid(left, &status, 0), left);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  for (const pid_t bystander : {another, of_its_folder}) {
    EXPECT_EQ(waitpid(bystander, &status, WNOHANG), 0) << "only the secret of the former start tells its processes";
    kill(bystander, SIGKILL);
    waitpid(bystander, &status, 0);
  }
}

// Another user puts a lock's file where this one would look for it, with a process that is not the node's in it.
TEST_F(NodeLockTest, AFileThatAnotherUserHasPutThereKillsNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  const pid_t bystander = StartSleep("MS_PROGRESS_FILE=/srv/muster/victim/progress-0");
  const std::string base = folder_ + "/shared";
  for (const mode_t mode : {0777, 01777}) {
    ASSERT_EQ(mkdir(base.c_str(), 0700), 0);
    ASSERT_EQ(chmod(base.c_str(), mode), 0);
    const pid_t hostile = fork();
    if (hostile == 0) {
      if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(1);
      std::error_code error;
      // (The job's folder has a digest in its name; whoever knows job and scheduler can work it out.)
      std::filesystem::create_directories(base + "/nodes/machine/" + JobFolder(), error);
      std::ofstream(base + "/nodes/machine/" + JobFolder() + "/0") << "1\ntoken\n\n/srv/muster/victim\n1\n";
      _exit(error ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(hostile, &status, 0), hostile);
    ASSERT_EQ(status, 0);
    const auto lock = NodeLock::Take(
        {base, "machine", "default", "host:8118", "", absl::Milliseconds(60), absl::Seconds(10), absl::Seconds(10)});
    EXPECT_FALSE(lock.ok());
    EXPECT_THAT(std::string(lock.status().message()),
                ::testing::AllOf(HasSubstr(mode == 0777 ? "others can write to the folder " + base
                                                        : base + "/nodes belongs to another user (uid 65534"),
                                 HasSubstr("MS_RECOVERY_PATH")));
    EXPECT_EQ(waitpid(bystander, &status, WNOHANG), 0) << "the bystander was killed";
    std::filesystem::remove_all(base);
  }
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
}

TEST_F(NodeLockTest, AFileOfAnotherUserAmongOursIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  {
    auto lock = Take();
    ASSERT_TRUE(lock.ok());
  }
  const std::string file = folder_ + "/nodes/machine/" + JobFolder() + "/0";
  ASSERT_EQ(link(file.c_str(), (folder_ + "/second").c_str()), 0);
  EXPECT_THAT(std::string(Take().status().message()), HasSubstr("hard link"));
  ASSERT_EQ(unlink((folder_ + "/second").c_str()), 0);
  ASSERT_EQ(chown(file.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(std::string(Take().status().message()), HasSubstr(file + " belongs to another user"));
  ASSERT_EQ(rename(file.c_str(), (file + ".real").c_str()), 0);
  ASSERT_EQ(symlink("0.real", file.c_str()), 0);
  EXPECT_THAT(std::string(Take().status().message()), HasSubstr("symbolic link"));
}

// Root's agent, whose command goes on as another user (setpriv, runuser, gosu), which clears PR_SET_PDEATHSIG.
TEST_F(NodeLockTest, NobodyVouchesForWhatRunsOnAsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start something as another user";
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  const std::string token = lock->token();
  int started[2];
  ASSERT_EQ(pipe2(started, O_CLOEXEC), 0);
  std::string name = "sleep", seconds = "1000", variable = "MUSTER_START=" + lock->secret();
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

  const auto [again, said] = TakeAndListen();
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->token(), token) << "the same ranks would start beside it";
  EXPECT_THAT(said, HasSubstr("pid " + std::to_string(left) + " (of uid 65534, not this user's to kill)"));
  int status = 0;
  EXPECT_EQ(waitpid(left, &status, WNOHANG), 0);
  kill(left, SIGKILL);
  waitpid(left, &status, 0);
}

// A process whose memory can't be read for now, as one that hangs in a driver with its memory map locked.
TEST_F(NodeLockTest, AProcessThatHangsWhenItIsLookedAtHoldsUpNobody) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  const std::string token = lock->token();
  { NodeLock ended = *std::move(lock); }
  const UnreadableProcess process(folder_ + "/hangs");
  if (process.pid() == 0) GTEST_SKIP() << "no FUSE here, or not root";
  const absl::Time begun = absl::Now();
  const auto [again, said] = TakeAndListen();
  EXPECT_LT(absl::Now() - begun, absl::Seconds(5));
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->token(), token) << "it may be the former start's";
  EXPECT_THAT(said, HasSubstr("pid " + std::to_string(process.pid()) + " (hangs when"));
}

TEST_F(NodeLockTest, WhoCannotLookVouchesForNobody) {
  const pid_t child = fork();
  if (child == 0) {
    // UBSan needs descriptors for its first look at an object's type.
    if (!EndOrphans("nobody's", 0, absl::ZeroDuration()).blind.empty()) _exit(2);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    const Orphans found = EndOrphans("secret", 0, absl::ZeroDuration());
    _exit(!found.are_none() && absl::StrContains(found.blind, "Too many open files") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(EndOrphans("", 0, absl::ZeroDuration()).are_none());
}

// Pods of one image: host name, machine-id and state folder are the same, what each sees of the other is not.
TEST_F(NodeLockTest, APodBesideALivingOneIsAnotherNode) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(77);
    const pid_t pod = fork();
    if (pod == 0) {
      if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
      if (mount("proc", "/proc", "proc", 0, nullptr) != 0) _exit(77);
      const absl::Time begun = absl::Now();
      const auto second = Take();  // here there is no process of the first one's number
      const auto with_id = Take("a");
      if (!second.ok()) std::fprintf(stderr, "%s\n", second.status().ToString().c_str());
      _exit(second.ok() && with_id.ok() && second->take() == 1 && absl::Now() - begun < absl::Seconds(5) ? 0 : 1);
    }
    int status = 0;
    waitpid(pod, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no pid namespaces here";
  EXPECT_EQ(status, 0);
}

TEST_F(NodeLockTest, AStartElsewhereIsNotVouchedFor) {
  const StartPlace here = StartPlace::Here();
  ASSERT_NE(here.boot, "");
  ASSERT_NE(here.pids, "");
  struct Case {
    std::string what;
    std::function<void(StartPlace&)> change;  // of the next start's place
    bool was_init;
    bool has_hardware;
    bool keeps_token;
    bool is_same_node;
  };
  const Case cases[] = {
      {"restarted", [](StartPlace&) {}, false, false, true, true},
      {"another pid namespace", [](StartPlace& p) { p.pids = "4:1"; }, false, false, false, true},
      {"another one, that of a pod whose agent was its init", [](StartPlace& p) { p.pids = "4:1"; }, true, false, true,
       true},
      {"another kernel", [](StartPlace& p) { p.boot = "other"; }, true, false, false, false},
      {"the same machine after a boot", [](StartPlace& p) { p.boot = "other"; }, false, true, true, true},
      {"another machine", [](StartPlace& p) { p.boot = "other", p.hardware = "y"; }, false, true, false, false},
      {"nobody knows where", [](StartPlace& p) { p.boot = ""; }, false, false, false, true},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    for (const std::string node_id : {"", "a"}) {
      StartPlace first = here;
      first.is_init = one.was_init;
      first.hardware = one.has_hardware ? "x" : "";
      std::string token;
      {
        auto lock = TakeAt(first, one.what, node_id);
        ASSERT_TRUE(lock.ok()) << lock.status();
        token = lock->token();
        lock->Keep("host-0");
      }
      StartPlace second = first;
      one.change(second);
      const auto again = TakeAt(second, one.what, node_id);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->token() == token, one.keeps_token);
      EXPECT_EQ(again->kept_id() == "host-0", one.is_same_node && node_id.empty());
    }
  }
}

TEST(LockRecordTest, AWholeOneIsReadBackAndATornOneNotBelieved) {
  LockRecord record;
  record.pid = 7, record.token = "t", record.id = "host-0", record.work_folder = "/tmp/w", record.take = 3;
  record.secret = "s", record.place = {"host", "boot", "1:2", "cards", true, 99};
  const std::string text = record.Encode();
  const LockRecord read = LockRecord::Decode(text + "left of a longer one\n");
  EXPECT_TRUE(read.is_whole);
  EXPECT_EQ(read.Encode(), text);
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    const LockRecord torn = LockRecord::Decode(text.substr(0, size));
    EXPECT_FALSE(torn.is_whole) << size;
    EXPECT_EQ(torn.secret, "") << size;
  }
  const LockRecord old = LockRecord::Decode("7\nt\nhost-0\n/tmp/w\n3\n");  // 0.1.0's
  EXPECT_EQ(old.id, "host-0");
  EXPECT_EQ(old.take, 3U);
  EXPECT_EQ(Judge(old, StartPlace::Here()), FormerStart::kUnseen);
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
