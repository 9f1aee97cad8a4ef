#include "worker_agent/diagnostics/stack_gatherer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "tests/unit/launch/temporary_folder.h"
#include "tests/unit/runtime/hanging_folder.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Reports that it is ready by making the file `argv[1]`.
constexpr char kAgreed[] =
    "import muster_training, sys, time\n"
    "def stands_here(): time.sleep(1000)\n"
    "assert muster_training.enable_stacks()\n"
    "open(sys.argv[1], 'w').close()\n"
    "stands_here()\n";

// Real processes, and a folder in PATH with the test's own py-spy.
class StackGathererTest : public ::testing::Test {
 protected:
  StackGathererTest() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    options_.search_path = folder_.path() + ":/usr/bin:/bin";
    options_.parent = getpid();
  }
  ~StackGathererTest() override {
    gatherer_.reset();
    for (const pid_t pid : started_) {
      kill(-pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    EXPECT_TRUE(KillDescendantsUntilNone({}, absl::Seconds(5)).ok());
  }

  std::string File(const std::string& name) const { return absl::StrCat(folder_.path(), "/", name); }

  // Starts a process in a group of its own, with MS_STACKS_FILE. On return its program runs.
  pid_t Start(const std::vector<std::string>& argv) {
    const std::string stacks = "MS_STACKS_FILE=" + File("stacks");
    int until_exec[2];
    if (pipe2(until_exec, O_CLOEXEC) != 0) return 0;
    const pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, 0);
      putenv(const_cast<char*>(stacks.c_str()));
      setenv("PYTHONPATH", MUSTER_PYTHON_FOLDER, 1);
      setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
      std::vector<char*> words;
      for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      execvp(words[0], words.data());
      _exit(127);
    }
    setpgid(pid, pid);
    close(until_exec[1]);
    char byte = 0;
    while (read(until_exec[0], &byte, 1) > 0) continue;
    close(until_exec[0]);
    started_.push_back(pid);
    return pid;
  }

  bool WaitForFile(const std::string& name) const {
    const MonotonicTime deadline = Clock::System().Read().monotonic + absl::Seconds(30);
    while (!fs::exists(File(name)) && Clock::System().Read().monotonic < deadline) poll(nullptr, 0, 5);
    return fs::exists(File(name));
  }

  void InstallPySpy(const std::string& script) {
    std::ofstream(File("py-spy")) << "#!/bin/sh\n" << script;
    fs::permissions(File("py-spy"), fs::perms::owner_all);
  }

  StackGatherer& Gatherer() {
    if (gatherer_ == nullptr) {
      gatherer_ = std::make_unique<StackGatherer>(options_, Clock::System(), [this](StacksGathered gathered) {
        MutexLock lock(mutex_);
        answers_.push_back(std::move(gathered));
        changed_.NotifyAll();
      });
    }
    return *gatherer_;
  }

  StacksGathered Answer() {
    const MonotonicTime deadline = Clock::System().Read().monotonic + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (answers_.empty() && Clock::System().Read().monotonic < deadline) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    if (answers_.empty()) return {};
    StacksGathered answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
    return answer;
  }

  v1::SlotStack Gather(pid_t pid) {
    Gatherer().Gather(7, {{3, pid, File("stacks")}});
    const StacksGathered answer = Answer();
    EXPECT_EQ(answer.query, 7u);
    if (answer.stacks.size() != 1) {
      ADD_FAILURE() << answer.stacks.size() << " stacks";
      return {};
    }
    EXPECT_EQ(answer.stacks[0].slot(), 3u);
    EXPECT_EQ(answer.stacks[0].pid(), static_cast<uint64_t>(pid));
    return answer.stacks[0];
  }

  static absl::Duration Since(MonotonicTime begin) { return Clock::System().Read().monotonic - begin; }

  // This process has only the children that the test has started: no py-spy and no descendant of it, dead or alive.
  void ExpectNothingIsLeft() {
    std::set<pid_t> known(started_.begin(), started_.end());
    EXPECT_THAT(DescendantsOf(getpid(), known).value(), IsEmpty());
  }

  const TemporaryFolder folder_;
  StackGathererOptions options_;
  std::vector<pid_t> started_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<StacksGathered> answers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<StackGatherer> gatherer_;
};

// ------------------------------------------------------------------------------------------------------ faulthandler

TEST_F(StackGathererTest, AProcessThatHasAgreedShowsItsStacks) {
  const pid_t pid = Start({"python3", "-c", kAgreed, File("ready")});
  ASSERT_TRUE(WaitForFile("ready"));
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "faulthandler");
  EXPECT_THAT(stack.text(), HasSubstr("in stands_here"));
  EXPECT_THAT(stack.note(), IsEmpty());
  const v1::SlotStack again = Gather(pid);  // only new output
  EXPECT_EQ(again.text(), stack.text());
  EXPECT_EQ(kill(pid, 0), 0);
}

TEST_F(StackGathererTest, TheProcessMayBeBelowAShell) {
  const pid_t pid = Start({"sh", "-c", "python3 -c \"$0\" \"$1\"; true", kAgreed, File("ready")});
  ASSERT_TRUE(WaitForFile("ready"));
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "faulthandler");
  EXPECT_THAT(stack.text(), HasSubstr("in stands_here"));
}

TEST_F(StackGathererTest, AProcessThatHasNotAgreedIsNotTouched) {
  std::ofstream(File("stacks")) << "old";  // the file alone is no consent
  const pid_t pid = Start({"sleep", "1000"});
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "kernel");
  EXPECT_THAT(stack.text(), HasSubstr("sleep: "));
  EXPECT_THAT(stack.note(), HasSubstr("enable_stacks()"));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it was killed";
}

TEST_F(StackGathererTest, AStoppedProcessIsReportedAsStopped) {
  const pid_t pid = Start({"sleep", "1000"});
  EXPECT_FALSE(Gather(pid).is_stopped());
  kill(pid, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  const v1::SlotStack stack = Gather(pid);
  EXPECT_TRUE(stack.is_stopped());
  EXPECT_THAT(stack.note(), HasSubstr("it is stopped, by a signal or a debugger"));
}

TEST_F(StackGathererTest, AProcessThatCatchesButDoesNotAnswerIsShownByTheKernel) {
  options_.signal_timeout = absl::Milliseconds(100);
  const pid_t pid = Start({"python3", "-c",
                           "import os, signal, sys, time; signal.signal(39, lambda *a: None)\n"
                           "open(sys.argv[1], 'w').close()\n"
                           "while not os.path.exists(sys.argv[2]): time.sleep(0.01)\n"
                           "file = open(sys.argv[2], 'a')\n"
                           "open(sys.argv[3], 'w').close()\n"
                           "while True: time.sleep(1000)",
                           File("ready"), File("stacks"), File("open")});
  ASSERT_TRUE(WaitForFile("ready"));
  EXPECT_THAT(Gather(pid).note(), Not(HasSubstr("faulthandler"))) << "without the file it has not agreed";
  std::ofstream(File("stacks")) << "old";
  ASSERT_TRUE(WaitForFile("open"));
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "kernel");
  EXPECT_THAT(stack.note(), HasSubstr("faulthandler: it didn't answer the signal"));
  EXPECT_THAT(stack.text(), Not(HasSubstr("old")));
}

TEST_F(StackGathererTest, TheFileMayBeAnything) {
  const pid_t pid = Start({"python3", "-c", kAgreed, File("ready")});
  ASSERT_TRUE(WaitForFile("ready"));
  fs::remove(File("stacks"));
  ASSERT_EQ(mkfifo(File("stacks").c_str(), 0600), 0);
  EXPECT_EQ(Gather(pid).method(), "kernel");
}

// ------------------------------------------------------------------------------------------------------------- py-spy

TEST_F(StackGathererTest, PySpyComesFirst) {
  InstallPySpy("echo \"$@\"; echo 'MainThread \\377'; env");
  const pid_t pid = Start({"sleep", "1000"});
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "py-spy");
  EXPECT_THAT(stack.text(), StartsWith(absl::StrCat("dump --nonblocking --pid ", pid, "\nMainThread")));
  EXPECT_THAT(stack.text(), Not(HasSubstr("\xff")));
  EXPECT_THAT(stack.text(), Not(HasSubstr("GTEST"))) << "it has our environment";
  ExpectNothingIsLeft();
}

TEST_F(StackGathererTest, PySpyIsPointedAtThePythonBelowAShell) {
  InstallPySpy("readlink /proc/$4/exe");
  const pid_t pid = Start({"sh", "-c", "python3 -c \"$0\" \"$1\"; true", kAgreed, File("ready")});
  ASSERT_TRUE(WaitForFile("ready"));
  EXPECT_THAT(Gather(pid).text(), HasSubstr("/python"));
}

TEST_F(StackGathererTest, WherePySpyFailsTheNextMethodIsTriedAndTheReasonShown) {
  InstallPySpy("echo 'Error: Permission denied' >&2; exit 1");
  const pid_t pid = Start({"python3", "-c", kAgreed, File("ready")});
  ASSERT_TRUE(WaitForFile("ready"));
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "faulthandler");
  EXPECT_THAT(stack.note(), HasSubstr("py-spy: exit code 1: Error: Permission denied"));
}

TEST_F(StackGathererTest, PySpyThatHangsIsKilledWithAllItHasStarted) {
  options_.py_spy_timeout = absl::Milliseconds(300);
  InstallPySpy("sleep 1000 & sleep 1000");
  const pid_t pid = Start({"sleep", "1000"});
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "kernel");
  EXPECT_THAT(stack.note(), HasSubstr("py-spy: it took too long"));
  ExpectNothingIsLeft();
}

TEST_F(StackGathererTest, PySpyThatTalksWithoutEndIsCutOff) {
  options_.py_spy_timeout = absl::Milliseconds(300);
  InstallPySpy("yes");
  EXPECT_EQ(Gather(Start({"sleep", "1000"})).method(), "kernel");
  InstallPySpy("echo begin; yes | head -c 1000000; echo end");
  options_.py_spy_timeout = absl::Seconds(4);
  gatherer_.reset();
  const v1::SlotStack stack = Gather(started_[0]);
  EXPECT_EQ(stack.method(), "py-spy");
  EXPECT_LE(stack.text().size(), kMaxStackBytes);
  EXPECT_THAT(stack.text(), HasSubstr("bytes left out"));
}

// ------------------------------------------------------------------------------------------ owner of the process

TEST_F(StackGathererTest, AProcessThatHasEndedIsReportedAsEnded) {
  InstallPySpy("echo never");
  const pid_t pid = Start({"true"});
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  v1::SlotStack stack = Gather(pid);  // a zombie
  EXPECT_EQ(stack.note(), "the process ended meanwhile");
  waitpid(pid, nullptr, 0);
  stack = Gather(pid);
  EXPECT_EQ(stack.note(), "the process ended meanwhile");
  EXPECT_THAT(stack.method(), IsEmpty());
  started_.clear();
}

TEST_F(StackGathererTest, AProcessThatEndsWhileItIsReadIsReportedAsEnded) {
  InstallPySpy("kill -9 $4; while ! grep -q 'State:.Z' /proc/$4/status; do :; done; exit 1");
  const v1::SlotStack stack = Gather(Start({"sleep", "1000"}));
  EXPECT_EQ(stack.note(), "the process ended meanwhile");
}

TEST_F(StackGathererTest, AnothersProcessIsNotTouched) {
  InstallPySpy("echo never");
  options_.parent = Start({"sleep", "1000"});
  const v1::SlotStack stack = Gather(Start({"sleep", "1000"}));
  EXPECT_EQ(stack.note(), "the process ended meanwhile");  // the pid now belongs to another process
  EXPECT_THAT(stack.text(), IsEmpty());
}

// ------------------------------------------------------------------------------------------------------- many, and
// ends

TEST_F(StackGathererTest, OneAnswerForSeveralSlots) {
  InstallPySpy("echo $4");
  const pid_t first = Start({"sleep", "1000"});
  const pid_t second = Start({"sleep", "1000"});
  Gatherer().Gather(8, {{0, first, ""}, {1, first, ""}, {2, 0, ""}, {3, second, ""}});
  const StacksGathered answer = Answer();
  ASSERT_THAT(answer.stacks, SizeIs(4));
  EXPECT_EQ(answer.stacks[0].text(), absl::StrCat(first, "\n"));
  EXPECT_EQ(answer.stacks[1].note(), "the same process as that of slot 0");
  EXPECT_EQ(answer.stacks[2].note(), "no process runs");
  EXPECT_EQ(answer.stacks[2].pid(), 0u);
  EXPECT_EQ(answer.stacks[3].text(), absl::StrCat(second, "\n"));
}

TEST_F(StackGathererTest, TheWholeTakesNoLongerThanItMay) {
  InstallPySpy("sleep 1000");
  options_.py_spy_timeout = absl::Milliseconds(400);
  options_.total_timeout = absl::Milliseconds(600);
  std::vector<StackTarget> targets;
  for (uint32_t slot = 0; slot < 20; ++slot) targets.push_back({slot, Start({"sleep", "1000"}), ""});
  const MonotonicTime begin = Clock::System().Read().monotonic;
  Gatherer().Gather(8, targets);
  const StacksGathered answer = Answer();
  EXPECT_LT(Since(begin), absl::Seconds(5)) << "one after the other it would be 8 s";
  ASSERT_THAT(answer.stacks, SizeIs(20));
  for (const v1::SlotStack& stack : answer.stacks) EXPECT_EQ(stack.method(), "kernel");
  ExpectNothingIsLeft();
}

TEST_F(StackGathererTest, IsCutShortAndGoesOn) {
  InstallPySpy("sleep 1000");
  const pid_t pid = Start({"sleep", "1000"});
  Gatherer().Gather(8, {{0, pid, ""}});
  MonotonicTime begin = Clock::System().Read().monotonic;
  Gatherer().Abandon();
  EXPECT_LT(Since(begin), absl::Seconds(2)) << "py-spy has 4 s";
  EXPECT_EQ(Answer().query, 8u) << "it is answered all the same";
  ExpectNothingIsLeft();
  InstallPySpy("echo here");
  EXPECT_EQ(Gather(pid).method(), "py-spy");
  InstallPySpy("sleep 1000");
  Gatherer().Gather(9, {{0, pid, ""}});
  begin = Clock::System().Read().monotonic;
  gatherer_.reset();
  EXPECT_LT(Since(begin), absl::Seconds(2));
  ExpectNothingIsLeft();
}

// ---------------------------------------------------------------------------------------------- file systems that hang

TEST_F(StackGathererTest, AFolderOfPathThatHangsIsTheSearchersProblem) {
  options_.search_path = File("hangs") + ":" + options_.search_path;
  options_.py_spy_timeout = absl::Milliseconds(300);
  InstallPySpy("echo never");
  const pid_t pid = Start({"sleep", "1000"});
  const HangingFolder hanging(File("hangs"));
  if (!hanging.hangs()) GTEST_SKIP() << "this needs root and /dev/fuse";
  const v1::SlotStack stack = Gather(pid);
  EXPECT_EQ(stack.method(), "kernel");
  EXPECT_THAT(stack.note(), HasSubstr("py-spy: it took too long"));
  ExpectNothingIsLeft();
}

TEST_F(StackGathererTest, AFileSystemThatHangsIsLeftBehind) {
  const pid_t pid = Start({"python3", "-c", kAgreed, File("ready")});
  ASSERT_TRUE(WaitForFile("ready"));
  options_.search_path = "";
  {
    const HangingFolder hanging(folder_.path());  // with MS_STACKS_FILE, which the process has open
    if (!hanging.hangs()) GTEST_SKIP() << "this needs root and /dev/fuse";
    Gatherer().Gather(8, {{0, pid, File("stacks")}});
    const MonotonicTime begin = Clock::System().Read().monotonic;
    Gatherer().Abandon();
    EXPECT_LT(Since(begin), absl::Seconds(10));
    Gatherer().Gather(9, {{0, pid, File("stacks")}});
    const StacksGathered answer = Answer();
    EXPECT_EQ(answer.query, 9u);
    ASSERT_THAT(answer.stacks, SizeIs(1));
    EXPECT_THAT(answer.stacks[0].note(), HasSubstr("has not finished"));
    gatherer_.reset();
    EXPECT_LT(Since(begin), absl::Seconds(10)) << "nor does its end wait";
  }
  MutexLock lock(mutex_);
  EXPECT_THAT(answers_, IsEmpty()) << "a late answer belongs to no query";
}

TEST(StackLimits, ManyLongTextsFitIntoOneAnswerAndTheShortOnesStayWhole) {
  std::vector<v1::SlotStack> stacks(kMaxStackRanks);
  for (v1::SlotStack& stack : stacks) {
    stack.set_slot(1000);
    stack.set_pid(4'000'000);
    stack.set_method("faulthandler");
    stack.set_text("begin " + std::string(2 * kMaxStackBytes, 'x') + " end");
    stack.set_note(std::string(2 * kMaxStackNoteBytes, 'n'));
  }
  stacks[5].set_text("short");
  KeepToLimits(stacks);
  v1::AgentMessage message;
  for (const v1::SlotStack& stack : stacks) *message.mutable_stack_traces()->add_stacks() = stack;
  EXPECT_LE(message.ByteSizeLong(), kMaxSessionMessageBytes);
  EXPECT_GT(message.ByteSizeLong(), kMaxStacksBytes / 2);
  EXPECT_EQ(stacks[5].text(), "short");
  EXPECT_THAT(stacks[0].text(), StartsWith("begin x"));
  EXPECT_THAT(stacks[0].text(), ::testing::EndsWith("x end"));
}

TEST(StackLimits, FewLongTextsHaveTheirFullSize) {
  std::vector<v1::SlotStack> stacks(2);
  stacks[0].set_text(std::string(kMaxStackBytes, 'x'));
  stacks[1].set_text(std::string(kMaxStackBytes + 1, 'x'));
  KeepToLimits(stacks);
  EXPECT_EQ(stacks[0].text(), std::string(kMaxStackBytes, 'x'));
  EXPECT_LE(stacks[1].text().size(), kMaxStackBytes);
}

}  // namespace
}  // namespace muster::agent
