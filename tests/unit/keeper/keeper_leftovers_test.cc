// A process dies and leaves a descendant that can't be killed. The keeper reports the death at once, but starts nothing
// in its place before the descendant is gone. Shims that are stopped are tested here, too.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Seconds(1);

KeeperOptions Options() {
  KeeperOptions options;
  options.leftovers_patience = kPatience;
  return options;
}

class KeeperLeftovers : public ::testing::Test {
 protected:
  // Writes the pid of a descendant, and ends with 3 after the next line of commands_.
  std::string Parent() const {
    return absl::StrCat("sleep 1000 & echo $! > ", fifo_.path(), "; read x < ", commands_.path(),
                        "; echo last words; exit 3");
  }
  pid_t ReadPid() { return std::atoi(fifo_.ReadLine().c_str()); }

  TempFolder folder_;
  Fifo fifo_{folder_.Path("fifo")};
  Fifo commands_{folder_.Path("commands")};
  Fifo last_report_{folder_.Path("last_report")};
};

#define SKIP_UNLESS_HELD(held) \
  if (!(held).is_held()) GTEST_SKIP() << "no process may be traced here"

TEST_F(KeeperLeftovers, ADeathIsReportedAtOnceAndItsPlaceIsFreeWhenNothingIsLeft) {
  TestKeeper keeper(Options());
  keeper.StartShell(0, Parent());
  const pid_t left = ReadPid();
  const auto has_executed = [&] {
    const std::optional<ProcessInfo> process = ReadProcess(left);
    return process.has_value() && process->name == "sleep";
  };
  EXPECT_TRUE(keeper.WaitUntil(has_executed));  // the shell writes its pid before it becomes sleep
  HeldAtExit held(left);
  SKIP_UNLESS_HELD(held);
  const MonotonicTime begin = BootTime();
  commands_.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_LT(BootTime() - begin, absl::Seconds(2));
  EXPECT_EQ(ended.end.exit.code, 3);
  EXPECT_FALSE(ended.end.was_stopped);
  EXPECT_THAT(ended.end.last_lines, ElementsAre("last words"));
  EXPECT_TRUE(ended.is_anything_left);

  keeper.StartShell(1, "exit 4");
  const Ended other = keeper.WaitEnded(1);
  EXPECT_EQ(other.end.exit.code, 4);
  EXPECT_FALSE(other.is_anything_left) << "one slot holds up no other";

  const Unkillable found = keeper.WaitUnkillable(0);
  EXPECT_LT(BootTime() - begin, kPatience + absl::Seconds(2));
  EXPECT_EQ(found.pid, left);
  EXPECT_EQ(found.name, "sleep");
  EXPECT_EQ(found.state, "t") << "a tracer holds it";
  EXPECT_LT(found.since - begin, absl::Seconds(1));
  for (const KeeperEvent& event : keeper.events()) EXPECT_FALSE(std::holds_alternative<Cleared>(event));
  held.Release();
  EXPECT_TRUE(keeper.WaitCleared());
}

TEST_F(KeeperLeftovers, AProcessThatCantBeKilledItselfIsNamedAndHasNotDied) {
  KeeperOptions options = Options();
  options.stop_timeout = absl::Milliseconds(100);
  TestKeeper keeper(options);
  keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec sleep 1000"));
  const pid_t process = ReadPid();
  HeldAtExit held(process);
  SKIP_UNLESS_HELD(held);
  keeper->StopAll();
  EXPECT_EQ(keeper.WaitUnkillable(0).pid, process);
  for (const KeeperEvent& event : keeper.events()) EXPECT_FALSE(std::holds_alternative<Ended>(event));
  held.Release();
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_FALSE(ended.is_anything_left);
}

// Tries the keeper's lock as another start of the node would.
bool IsLocked(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

TEST_F(KeeperLeftovers, AnAgentThatEndsLeavesTheLockToThemUntilNothingIsLeft) {
  const std::string lock = folder_.Path("lock");
  PipeEnds terminal = MakeTestPipe();
  pid_t agent = 0;
  {
    StreamsTo streams(terminal.write.get(), terminal.write.get());
    agent = ::fork();
    if (agent == 0) {
      TestKeeper keeper(Options());
      {
        const UniqueFd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        ::flock(fd.get(), LOCK_EX);
        keeper->HoldLock(fd.get()).IgnoreError();
      }
      keeper->SetLastReport(
          {{"sh", "-c", absl::StrCat("echo last_report {exit_code} > ", last_report_.path())}, {"PATH=/usr/bin:/bin"}});
      keeper.StartShell(0, Parent());
      keeper.WaitEnded(0);
      keeper.WaitUnkillable(0);
      keeper.Destroy();
      ::_exit(7);
    }
    terminal.write.reset();
  }
  HeldAtExit held(ReadPid());
  commands_.WriteLine("go");
  if (!held.is_held()) {
    ::kill(agent, SIGKILL);
    ::waitpid(agent, nullptr, 0);
    GTEST_SKIP() << "no process may be traced here";
  }
  int status = 0;
  ASSERT_EQ(::waitpid(agent, &status, 0), agent);
  EXPECT_EQ(WEXITSTATUS(status), 7) << "it waits for so long, and no longer";
  EXPECT_TRUE(IsLocked(lock));
  EXPECT_THAT(ReadToEnd(terminal.read), Not(HasSubstr("no end came"))) << "a reader of its output is not held up";
  EXPECT_EQ(last_report_.ReadLine(100), "(nothing came)");
  held.Release();
  EXPECT_EQ(last_report_.ReadLine(), "last_report 7");
  const MonotonicTime deadline = BootTime() + absl::Milliseconds(kBoundMs);
  while (IsLocked(lock) && BootTime() < deadline) ::poll(nullptr, 0, 10);
  EXPECT_FALSE(IsLocked(lock));
}

// ------------------------------------------------------------------------------------------------------ stopped shims

class StoppedShim : public KeeperLeftovers {
 protected:
  pid_t ShimOf(pid_t process) {
    const std::optional<ProcessInfo> info = ReadProcess(process);
    EXPECT_TRUE(info.has_value());
    return info.has_value() ? info->parent : 0;
  }
  // Reads until `wanted` comes.
  std::string ReadUntil(const std::string& wanted) {
    pollfd ready{piped_.pipe.read.get(), POLLIN, 0};
    char buffer[4096];
    while (said_.find(wanted) == std::string::npos && ::poll(&ready, 1, static_cast<int>(kBoundMs)) == 1) {
      const ssize_t n = ::read(ready.fd, buffer, sizeof buffer);
      if (n <= 0) break;
      said_.append(buffer, static_cast<size_t>(n));
    }
    return said_;
  }

  PipedKeeper piped_{Options()};
  std::string said_;
};

TEST_F(StoppedShim, IsReportedWithTheRemedyAndEndedWithItsProcess) {
  TestKeeper& keeper = *piped_.keeper;
  keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec sleep 1000"));
  const pid_t shim = ShimOf(ReadPid());
  const MonotonicTime begin = BootTime();
  ::kill(shim, SIGSTOP);
  EXPECT_THAT(ReadUntil("lets it go on"),
              HasSubstr(absl::StrCat("the shim of slot 0 (process ", shim, ") was stopped by SIGSTOP: kill -CONT ",
                                     shim, " lets it go on")));
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_GT(BootTime() - begin, kPatience - absl::Milliseconds(100));
  EXPECT_LT(BootTime() - begin, kPatience + absl::Seconds(2));
  EXPECT_EQ(ended.end.exit.signal, SIGKILL);
  EXPECT_FALSE(ended.end.was_stopped) << "it was no order: the rank has failed";
  EXPECT_EQ(ended.end.error_message, absl::StrCat("its shim (pid ", shim, ") was stopped by SIGSTOP for 1 s"));
}

TEST_F(StoppedShim, ReportsTheEndThatCameMeanwhile) {
  TestKeeper& keeper = *piped_.keeper;
  keeper.StartShell(0, absl::StrCat("read x < ", commands_.path(), "; kill -STOP $PPID; exit 3"));
  keeper.WaitStarted(0);
  commands_.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 3);
  EXPECT_EQ(ended.end.exit.signal, 0);
  EXPECT_THAT(ended.end.error_message, HasSubstr("was stopped by SIGSTOP for 1 s"));
}

TEST_F(StoppedShim, ThatGoesOnInTimeDoesNoHarm) {
  TestKeeper& keeper = *piped_.keeper;
  keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; read x < ", commands_.path(), "; exit 5"));
  const pid_t shim = ShimOf(ReadPid());
  ::kill(shim, SIGSTOP);
  ReadUntil("was stopped by");
  ::kill(shim, SIGCONT);
  EXPECT_THAT(ReadUntil("goes on\n"), HasSubstr(absl::StrCat("(process ", shim, ") goes on\n")));
  EXPECT_EQ(fifo_.ReadLine(1500), "(nothing came)") << "for longer than a stopped one has";
  commands_.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 5);
  EXPECT_EQ(ended.end.error_message, "");
}

}  // namespace
}  // namespace muster::agent
