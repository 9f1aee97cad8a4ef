#include "worker_agent/node/node_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
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
#include <optional>
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
#include "worker_agent/node/proc_view.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
    return NodeLock::Take({folder_, "machine", job, "host:8118", node_id, absl::Milliseconds(60), absl::Seconds(10),
                           orphans_patience, StartPlace::Here(), mark_});
  }

  absl::StatusOr<NodeLock> TakeAt(const StartPlace& place, const std::string& job, const std::string& node_id) {
    return NodeLock::Take({folder_, "machine", job, "host:8118", node_id, absl::Milliseconds(60), absl::Seconds(10),
                           absl::ZeroDuration(), place, mark_});
  }

  // Takes the lock without patience for remaining processes; also returns the log.
  std::pair<absl::StatusOr<NodeLock>, std::string> TakeAndListen() {
    testing::internal::CaptureStderr();
    auto lock = Take("", "default", absl::ZeroDuration());
    FlushLog(absl::Seconds(10));
    return {std::move(lock), testing::internal::GetCapturedStderr()};
  }

  // Starts a process with only that variable and the mark, which goes on as `uid`. (On return it has closed the lock.)
  static pid_t StartSleep(std::string variable, const std::optional<ProcessMark>& mark, uid_t uid = geteuid()) {
    int started[2];
    EXPECT_EQ(pipe2(started, O_CLOEXEC), 0);
    std::string name = "sleep", seconds = "1000";
    char* arguments[] = {name.data(), seconds.data(), nullptr};
    char* environment[] = {variable.data(), nullptr};
    const pid_t pid = fork();
    if (pid == 0) {
      if (mark && !mark->Set().ok()) _exit(1);
      if (uid == geteuid() || setresuid(uid, uid, uid) == 0) execve("/bin/sleep", arguments, environment);
      _exit(1);
    }
    close(started[1]);
    char byte = 0;
    EXPECT_EQ(read(started[0], &byte, 1), 0);  // it has executed: the last writer has closed it
    close(started[0]);
    return pid;
  }

  // The folder of job "default" and scheduler "host:8118".
  static std::string JobFolder() {
    return "default_host_8118-" + absl::BytesToHexString(Sha256("default@host:8118")).substr(0, 16);
  }

  std::string folder_;
  const std::optional<ProcessMark> mark_ = *ProcessMark::Make();
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
  EXPECT_EQ(again->take(), 2U) << "it distinguishes a late join of the first one";
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

// Like a keeper that outlives its agent: the owner is dead, but the lock is not free yet.
TEST_F(NodeLockTest, ADyingOwnerIsWaitedForAndItsNumberNotPassedOver) {
  const pid_t agent = fork();
  if (agent == 0) {
    auto lock = Take();
    lock->Keep("host-0");
    if (fork() == 0) {  // acts as the keeper
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

// Agent and keeper were killed together, and the training process was started by a launcher.
TEST_F(NodeLockTest, WhatAFormerStartLeftRunningIsEnded) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  lock->KeepFolder(folder_ + "/muster/kept");
  const std::string token = lock->token();
  const pid_t marked = StartSleep("A=env -i, or a changed title", mark_);
  const pid_t with_secret = StartSleep("MUSTER_START=" + lock->secret(), std::nullopt);  // root has reset its limit
  const pid_t another = StartSleep("MUSTER_START=another", *ProcessMark::Make());
  const pid_t of_its_folder = StartSleep("MS_PROGRESS_FILE=" + folder_ + "/muster/kept/progress-0", std::nullopt);
  const uint64_t start = lock->start();
  { NodeLock ended = *std::move(lock); }
  const auto again = Take();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->token(), token);
  EXPECT_EQ(again->doubt(), "");
  EXPECT_THAT(again->ended(), ElementsAre(start));
  int status = 0;
  for (const pid_t left : {marked, with_secret}) {
    EXPECT_EQ(waitpid(left, &status, 0), left);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  for (const pid_t bystander : {another, of_its_folder}) {
    EXPECT_EQ(waitpid(bystander, &status, WNOHANG), 0) << "only mark and secret of the former start count";
    kill(bystander, SIGKILL);
    waitpid(bystander, &status, 0);
  }
}

// Another user puts a lock file where this one would look for it. The file names a process that is not the node's.
TEST_F(NodeLockTest, AnotherUsersFileKillsNoProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  const pid_t bystander = StartSleep("MS_PROGRESS_FILE=/srv/muster/victim/progress-0", std::nullopt);
  const std::string base = folder_ + "/shared";
  for (const mode_t mode : {0777, 01777}) {
    ASSERT_EQ(mkdir(base.c_str(), 0700), 0);
    ASSERT_EQ(chmod(base.c_str(), mode), 0);
    const pid_t hostile = fork();
    if (hostile == 0) {
      if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(1);
      std::error_code error;
      // (The job's folder has a digest in its name, which anyone that knows job and scheduler can compute.)
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

// Root's agent with a command that goes on as another user (setpriv, runuser, gosu), which clears PR_SET_PDEATHSIG.
TEST_F(NodeLockTest, AProcessOfAnotherUserIsNotKnownToHaveEnded) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start something as another user";
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  const std::string token = lock->token();
  const pid_t left = StartSleep("", mark_, kNobody);
  { NodeLock ended = *std::move(lock); }

  const auto [again, said] = TakeAndListen();
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->token(), token) << "the same ranks would start beside it";
  EXPECT_THAT(said,
              HasSubstr("pid " + std::to_string(left) + " (sleep of uid 65534, by its mark, not this user's to kill)"));
  EXPECT_THAT(again->doubt(), HasSubstr("pid " + std::to_string(left)));
  EXPECT_THAT(again->ended(), IsEmpty());
  int status = 0;
  EXPECT_EQ(waitpid(left, &status, WNOHANG), 0);
  kill(left, SIGKILL);
  waitpid(left, &status, 0);
}

// A process with memory that can't be read for now, like one that hangs in a driver with its memory map locked.
TEST_F(NodeLockTest, AProcessThatHangsWhenItIsReadBlocksNothing) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  const std::string token = lock->token();
  { NodeLock ended = *std::move(lock); }
  const UnreadableProcess process(folder_ + "/hangs");
  if (process.pid() == 0) GTEST_SKIP() << "no FUSE here, or not root";
  const absl::Time begun = absl::Now();
  const auto again = Take();
  EXPECT_LT(absl::Now() - begun, absl::Seconds(5));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->token(), token) << "it has no mark, so it is not the former start's";
}

// Lowering a limit needs no rights, so such a process looks like one that never had the mark.
TEST_F(NodeLockTest, AProcessThatMayHaveLoweredItsLimitIsUnclear) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok());
  const std::string token = lock->token();
  const pid_t left = StartSleep("", mark_);
  const rlimit lower{200'000, 200'000};
  ASSERT_EQ(prlimit(left, RLIMIT_RTTIME, &lower, nullptr), 0);
  { NodeLock ended = *std::move(lock); }
  auto [again, said] = TakeAndListen();
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->token(), token);
  EXPECT_THAT(said, HasSubstr("pid " + std::to_string(left)));
  kill(left, SIGKILL);
  waitpid(left, nullptr, 0);
}

// An HPC system where users don't see each other's processes: a process that the command ran by sudo could be hidden.
TEST_F(NodeLockTest, WithoutSightOfAllProcessesNoneIsKnownToHaveEnded) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount /proc";
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(77);  // with a /proc of its own, and its own options
    const pid_t inner = fork();
    if (inner == 0) {
      if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
      if (mount("proc", "/proc", "proc", 0, "hidepid=2") != 0) _exit(77);
      if (!EndOrphans({*ProcessMark::Make(), "secret"}, absl::ZeroDuration()).are_none()) _exit(2);  // root sees all
      if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(77);
      const Orphans found = EndOrphans({*ProcessMark::Make(), "secret"}, absl::ZeroDuration());
      _exit(absl::StrContains(found.blind, "hidepid=") ? 0 : 1);
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no pid namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ProcView, HidepidHidesUnlessThisProcessIsLetOff) {
  const std::string line = "22 28 0:21 / /proc rw,nosuid - proc proc rw,";
  EXPECT_EQ(WhatProcHides("", false), "");
  EXPECT_EQ(WhatProcHides(line + "hidepid=off\n", false), "");
  for (const char* kind : {"1", "2", "4", "noaccess", "invisible", "ptraceable"}) {
    EXPECT_THAT(WhatProcHides(line + "hidepid=" + kind + "\n", false), HasSubstr(kind));
    EXPECT_EQ(WhatProcHides(line + "hidepid=" + kind + "\n", true), "") << "with CAP_SYS_PTRACE";
    EXPECT_EQ(WhatProcHides(line + "hidepid=" + kind + "\n" + line + "gid=0\n", false), "") << "a later mount counts";
  }
  const std::string group = "gid=" + std::to_string(getegid());
  EXPECT_EQ(WhatProcHides(line + group + ",hidepid=2\n", false) == "", getegid() != 0);
  EXPECT_NE(WhatProcHides(line + "hidepid=4," + group + "\n", false), "");
}

TEST_F(NodeLockTest, WithoutProcNoProcessIsKnownToHaveEnded) {
  const pid_t child = fork();
  if (child == 0) {
    // UBSan's first look at an object's type needs descriptors.
    const ProcessMark mark = *ProcessMark::Make();
    if (!EndOrphans({mark, "nobody's"}, absl::ZeroDuration()).blind.empty()) _exit(2);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    const Orphans found = EndOrphans({mark, "secret"}, absl::ZeroDuration());
    _exit(!found.are_none() && absl::StrContains(found.blind, "Too many open files") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(EndOrphans({mark_, ""}, absl::ZeroDuration()).are_none());
  EXPECT_FALSE(EndOrphans({std::nullopt, "secret"}, absl::ZeroDuration()).are_none());
}

// Pods of one image have the same host name, machine-id and state folder, but don't see each other's processes.
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
      const auto second = Take();  // here no process has the first one's number
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
    std::function<void(StartPlace&)> change;  // changes the place of the next start
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
  record.secret = "s", record.place = {"host", "boot", "1:2", "1:3", "cards", true, 99};
  record.mark = *ProcessMark::Make(), record.ended = {5, 6}, record.has_joined = true;
  const std::string text = record.Encode();
  const LockRecord read = LockRecord::Decode(text + "left of a longer one\n");
  EXPECT_TRUE(read.is_whole);
  EXPECT_EQ(read.Encode(), text);
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    const LockRecord torn = LockRecord::Decode(text.substr(0, size));
    EXPECT_FALSE(torn.is_whole) << size;
    EXPECT_EQ(torn.secret, "") << size;
  }
  const LockRecord old = LockRecord::Decode("7\nt\nhost-0\n/tmp/w\n3\n");  // truncated
  EXPECT_EQ(old.id, "host-0");
  EXPECT_EQ(old.take, 3U);
  EXPECT_EQ(Judge(old, StartPlace::Here()), FormerStart::kUnseen);
}

// A start confirms the end of all earlier starts, as long as each of these did so for the start before it. The list is
// bounded.
TEST(LockRecordTest, WhatHasEndedIsPassedOnAndBounded) {
  LockRecord record;
  EXPECT_THAT(record.EndedWithIt(), IsEmpty()) << "it names no start";
  record.secret = "s";
  record.ended = {5, 6};
  EXPECT_THAT(record.EndedWithIt(), ElementsAre(5, 6, record.start()));
  for (int i = 0; i < 100; ++i) record.ended = record.EndedWithIt();
  EXPECT_EQ(record.ended.size(), 64U);
  record.has_joined = true;
  EXPECT_EQ(record.EndedWithIt().size(), 8U) << "a scheduler knows it, and asks for none before it";
}

// The disk was restored from a backup or snapshot: the file names a start before the last one.
TEST_F(NodeLockTest, AFileThatWasRolledBackDoesNotSpeakForTheLastStart) {
  const auto take_and_end = [&] {
    auto lock = Take("a");
    return lock.ok() ? lock->start() : 0;
  };
  const std::string file = folder_ + "/nodes/machine/" + JobFolder() + "/id-a";
  const uint64_t first = take_and_end();
  std::filesystem::copy_file(file, folder_ + "/backup");
  const uint64_t second = take_and_end();
  std::filesystem::copy_file(folder_ + "/backup", file, std::filesystem::copy_options::overwrite_existing);
  const auto third = Take("a");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_THAT(third->ended(), ElementsAre(first)) << "not " << second;
}

// In another time namespace the start times of /proc are shifted.
TEST(LockRecordTest, AHolderInAnotherTimeNamespaceIsNotTakenForAnotherProcess) {
  LockRecord holder;
  holder.is_whole = true;
  holder.pid = getpid();
  holder.place = StartPlace::Here();
  EXPECT_FALSE(HasHolderEnded(holder, StartPlace::Here()));
  holder.place.start_time += 1000;
  EXPECT_TRUE(HasHolderEnded(holder, StartPlace::Here())) << "its number is another process's";
  holder.place.times = "4:1";
  EXPECT_FALSE(HasHolderEnded(holder, StartPlace::Here()));
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
