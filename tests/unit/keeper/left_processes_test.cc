#include "worker_agent/keeper/shim/left_processes.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/shim/shim.h"

namespace muster::agent {
namespace {

TEST(HasJobFailed, GoesByTheExitAndByItsTime) {
  constexpr int kByOrder[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGKILL};
  for (const bool is_early : {true, false}) {
    EXPECT_FALSE(HasJobFailed(W_EXITCODE(0, 0), is_early));
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(1, 0), is_early)) << "a training that finds no module";
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(128, 0), is_early));
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(0, SIGSEGV), is_early));
    EXPECT_TRUE(HasJobFailed(W_EXITCODE(128 + SIGSEGV, 0), is_early));
    for (const int signal : kByOrder) {
      EXPECT_EQ(HasJobFailed(W_EXITCODE(0, signal), is_early), !is_early) << "the script's last act: " << signal;
      EXPECT_EQ(HasJobFailed(W_EXITCODE(128 + signal, 0), is_early), !is_early) << signal;
    }
  }
}

TEST(NamesOf, NamesFiveAndSaysWhere) {
  ProcessInfo process;
  process.name = "python3";
  process.pid = 7;
  LeftProcesses left{{process}, {process}};
  EXPECT_EQ(NamesOf(left), "python3 (7), python3 (7, in a session of its own)");
  left.jobs.resize(5, process);
  left.jobs[0].name = "\x1b[31m\n";
  EXPECT_EQ(NamesOf(left), " (7), python3 (7), python3 (7), python3 (7), python3 (7) and 1 more");
}

// Runs `body` in a process with a session of its own, as a shim has. `body` returns an error, or nothing.
void InSession(const std::function<std::string()>& body) {
  const PipeEnds pipe = MakeTestPipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    const std::string wrong = body();
    [[maybe_unused]] const ssize_t n = ::write(pipe.write.get(), wrong.data(), wrong.size());
    ::_exit(wrong.empty() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  char text[512] = {};
  [[maybe_unused]] const ssize_t n = status == 0 ? 0 : ::read(pipe.read.get(), text, sizeof text - 1);
  EXPECT_EQ(status, 0) << text;
}

void TakeAllDescriptors() {
  (void)BootTime();  // UBSan's first look at the clock's type needs a pipe
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NOFILE, &none);
}

// A child in a group of its own that ends with `code` once the other end of the pipe is closed.
pid_t ForkJob(const PipeEnds& pipe, int code) {
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::setpgid(pid, pid);
    return pid;
  }
  ::setpgid(0, 0);
  ::close(pipe.write.get());
  char byte = 0;
  [[maybe_unused]] const ssize_t n = ::read(pipe.read.get(), &byte, 1);
  ::_exit(code);
}

siginfo_t WaitForEnd(pid_t pid) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  return info;
}

// The failure of a job counts if waitid has shown it, whether or not /proc can be read.
TEST(BackgroundJobs, AFailureCountsWhereProcCantBeRead) {
  for (const bool sees_children : {true, false}) {
    InSession([&]() -> std::string {
      Children children;
      if (sees_children) children = Children::OfThisProcess();
      const PipeEnds pipe = MakeTestPipe();
      PipeEnds later = MakeTestPipe();
      const pid_t dead = ForkJob(pipe, 0);
      ::kill(dead, SIGKILL);
      WaitForEnd(dead);
      const pid_t job = ForkJob(later, 7);
      TakeAllDescriptors();
      if (LookForLeft().has_value()) return "/proc can be read";
      BackgroundJobs jobs;
      jobs.Begin(children, BootTime());
      later.write.reset();
      const bool has_failed = jobs.NoteEnd(WaitForEnd(job));
      if (!has_failed || !jobs.has_failed()) return "the job's failure was dropped";
      if (jobs.failed_status() != W_EXITCODE(7, 0)) return absl::StrCat("status ", jobs.failed_status());
      const std::string expected = absl::StrCat("a background job (", job, ") ended with 7");
      return jobs.failure() == expected ? "" : jobs.failure();
    });
  }
}

TEST(BackgroundJobs, WhatStartedLaterOrElsewhereIsNone) {
  InSession([]() -> std::string {
    Children children = Children::OfThisProcess();
    PipeEnds pipe = MakeTestPipe();
    BackgroundJobs jobs;
    jobs.Begin(children, BootTime());
    const pid_t late = ForkJob(pipe, 7);
    pipe.write.reset();
    return jobs.NoteEnd(WaitForEnd(late)) || jobs.has_failed() ? "one that started later was counted" : "";
  });
}

TEST(SignalLeft, ReachesTheGroupsOfTheChildrenWhereProcCantBeRead) {
  InSession([]() -> std::string {
    Children children = Children::OfThisProcess();
    const PipeEnds pipe = MakeTestPipe();
    const pid_t one = ForkJob(pipe, 0);
    const pid_t two = ForkJob(pipe, 0);
    TakeAllDescriptors();
    if (SignalLeft(children, one, SIGTERM, /*lets_go_on=*/true)) return "it could look";
    if (WaitForEnd(one).si_status != SIGTERM) return "the group was not reached";
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(two), &info, WEXITED | WNOWAIT | WNOHANG);
    if (info.si_pid != 0) return "another group was reached";
    if (SignalLeft(children, 0, SIGINT, /*lets_go_on=*/true)) return "it could look";
    return WaitForEnd(two).si_status == SIGINT ? "" : "the session was not reached";
  });
}

// ----------------------------------------------------------------------------------------------- by a shim of a keeper

// A shell that has ended with 0 leaves a job that reports to the test. From then on its shim has no descriptors.
class ShimWithoutProc : public ::testing::Test {
 protected:
  ShimWithoutProc() : fifo_(folder_.Path("fifo")), go_(folder_.Path("go")) {}

  void Start(const std::string& job) {
    piped_.keeper->StartShell(0,
                              absl::StrCat("read line < ", go_.path(), "; (read line < ", go_.path(), "; ", job,
                                           ") & echo up > ", fifo_.path()),
                              [](ProcessSpec& spec) { spec.stands_for_all = spec.waits_for_background = true; });
    piped_.keeper->WaitStarted(0);
    const std::vector<pid_t> shims = NamedBelow(::getpid(), kShimName);
    ASSERT_EQ(shims.size(), 1U);
    const rlimit none{3, 3};  // as many as it polls
    ASSERT_EQ(::prlimit(shims[0], RLIMIT_NOFILE, &none, nullptr), 0);
    go_.WriteLine("start the job");
    EXPECT_EQ(fifo_.ReadLine(), "up");
  }

  void WaitUntilItCantLook() {
    std::string said;
    while (!absl::StrContains(said, "can't see whether processes of slot 0 are left (/proc: Too many open files)")) {
      pollfd ready{piped_.pipe.read.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&ready, 1, static_cast<int>(kBoundMs)), 1) << said;
      char text[4096];
      const ssize_t n = ::read(piped_.pipe.read.get(), text, sizeof text);
      ASSERT_GT(n, 0) << said;
      said.append(text, static_cast<size_t>(n));
    }
  }

  TempFolder folder_;
  Fifo fifo_;
  Fifo go_;
  PipedKeeper piped_;
};

TEST_F(ShimWithoutProc, WaitsForTheBackgroundUntilItHasEnded) {
  Start(absl::StrCat("echo trained > ", fifo_.path()));
  WaitUntilItCantLook();
  go_.WriteLine("train");
  EXPECT_EQ(fifo_.ReadLine(), "trained");
  const Ended ended = piped_.keeper->WaitEnded(0);
  EXPECT_TRUE(ended.end.exit.IsSuccess());
  EXPECT_FALSE(ended.end.was_stopped);
}

TEST_F(ShimWithoutProc, SeesAJobFail) {
  Start("exit 7");
  WaitUntilItCantLook();
  go_.WriteLine("fail");
  EXPECT_EQ(piped_.keeper->WaitEnded(0).end.exit.code, 7);
}

TEST_F(ShimWithoutProc, PassesAStopOn) {
  Start(absl::StrCat("trap 'echo saved > ", fifo_.path(), "; exit' TERM; echo ready > ", fifo_.path(),
                     "; while :; do sleep 0.01; done"));
  WaitUntilItCantLook();
  go_.WriteLine("run");
  EXPECT_EQ(fifo_.ReadLine(), "ready");
  (*piped_.keeper)->StopAll();
  EXPECT_EQ(fifo_.ReadLine(), "saved");
  EXPECT_TRUE(piped_.keeper->WaitEnded(0).end.was_stopped);
}

// A job that is left is not part of the process, which has ended by itself.
TEST(Shim, AStopWhileSomethingLingersStopsNoProcess) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.StartShell(0, absl::StrCat("sleep 1000 & echo $$ > ", fifo.path()));
  ASSERT_TRUE(EndsWithin(fifo.ReadPid(), kBoundMs));
  keeper->StopAll();
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_TRUE(ended.end.exit.IsSuccess());
  EXPECT_FALSE(ended.end.was_stopped);
  EXPECT_TRUE(keeper.WaitUntil([] { return NamedBelow(::getpid(), kShimName).empty(); }));
}

}  // namespace
}  // namespace muster::agent
