#include "worker_agent/keeper/process/descendants.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"

namespace muster::agent {
namespace {

std::string StatLine(const std::string& command, char state, int threads) {
  return absl::StrCat("42 (", command, ") ", std::string(1, state), " 7 43 44 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 ",
                      threads, " 0 987654321 1000 2000 18446744073709551615\n");
}

TEST(ParseProcStat, Fields) {
  const auto info = ParseProcStat(StatLine("python3", 'S', 12));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->pid, 42);
  EXPECT_EQ(info->parent, 7);
  EXPECT_EQ(info->group, 43);
  EXPECT_EQ(info->start_time, 987654321u);
  EXPECT_FALSE(info->is_dead);
}

TEST(ParseProcStat, CommandsMayContainAnything) {
  for (const char* command : {"a) S 1 1 (b", "(", ")", " ", "x) Z 9"}) {
    const auto info = ParseProcStat(StatLine(command, 'S', 1));
    ASSERT_TRUE(info.has_value()) << command;
    EXPECT_EQ(info->parent, 7) << command;
  }
}

TEST(ParseProcStat, AMainThreadThatEndedFirstIsNoDeath) {
  EXPECT_TRUE(ParseProcStat(StatLine("x", 'Z', 1))->is_dead);
  EXPECT_FALSE(ParseProcStat(StatLine("x", 'Z', 2))->is_dead);
}

TEST(ParseProcStat, CutTextIsRefused) {
  EXPECT_FALSE(ParseProcStat("").has_value());
  EXPECT_FALSE(ParseProcStat("42 (x").has_value());
  EXPECT_FALSE(ParseProcStat("42 (x) S 7 43").has_value());
}

pid_t ForkShell(const std::string& script) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  return pid;
}

TEST(KillDescendants, ReachesOrphansInSessionsOfTheirOwnAndSparesTheSpared) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  const std::string write_pid = absl::StrCat("echo $$ > ", fifo.path(), "; exec sleep 1000");
  const pid_t spared = ForkShell("sleep 1000 & " + write_pid);
  UniqueFd spared_pidfd = fifo.ReadPid();
  // The inner shell leaves the group, and its parent ends, so it becomes an orphan of this process.
  ForkShell(absl::StrCat("setsid sh -c '", write_pid, "' & exec sleep 0"));
  UniqueFd orphan = fifo.ReadPid();

  EXPECT_TRUE(KillDescendantsUntilNone({spared}, absl::Milliseconds(kBoundMs)).ok());
  EXPECT_TRUE(EndsWithin(orphan, 0));
  EXPECT_FALSE(EndsWithin(spared_pidfd, 0));
  const auto left = AllBelow(::getpid());
  EXPECT_GE(left.size(), 1u);
  EXPECT_LE(left.size(), 2u) << "the spared one, and its sleep at most";

  EXPECT_TRUE(KillDescendantsUntilNone({}, absl::Milliseconds(kBoundMs)).ok());
  EXPECT_TRUE(AllBelow(::getpid()).empty());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "all are reaped";
}

TEST(SignalExactly, NeverReachesALaterProcessOfTheSamePid) {
  const pid_t pid = ForkShell("exec sleep 1000");
  ProcessInfo info;
  for (const ProcessInfo& process : AllBelow(::getpid())) {
    if (process.pid == pid) info = process;
  }
  ASSERT_EQ(info.pid, pid);
  ProcessInfo earlier = info;
  earlier.start_time -= 1;
  SignalExactly(earlier, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), 0);
  SignalExactly(info, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(ShownName, IsOneLineOfText) {
  ProcessInfo process;
  process.name = "a\tb\x1b[1m\xff";
  EXPECT_EQ(ShownName(process).find_first_of("\t\x1b\xff"), std::string::npos) << ShownName(process);
  process.name = "python3";
  EXPECT_EQ(ShownName(process), "python3");
}

// The state of a killed training process with a thread that hangs: its main thread is a zombie.
TEST(StateOf, IsThatOfAThreadThatHasNotEnded) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::thread([&] {
      [[maybe_unused]] const ssize_t n = ::write(ready[1], "x", 1);
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // ends this thread only
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  std::optional<ProcessInfo> process;
  const MonotonicTime deadline = BootTime() + absl::Milliseconds(kBoundMs);
  do {
    process = ReadProcess(pid);
  } while (process.has_value() && StateOf(*process) != 'S' && BootTime() < deadline);
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(process->state, 'Z');
  EXPECT_FALSE(process->is_dead);
  EXPECT_EQ(StateOf(*process), 'S') << "it pauses";
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(HasLivingMember, ZombiesDontCount) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_EQ(::setpgid(pid, pid), 0);  // this would fail after an exec
  EXPECT_TRUE(HasLivingMember(pid));
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(HasLivingMember(pid));
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace muster::agent
