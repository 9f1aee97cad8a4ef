// Real processes through a keeper, from start to end. Stops and fences have files of their own.
#include "worker_agent/keeper/client/keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/reason.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Keeper, ExitCodesAndSignals) {
  TestKeeper keeper;
  keeper.StartShell(0, "exit 0");
  keeper.StartShell(1, "exit 7");
  keeper.StartShell(2, "kill -9 $$");
  EXPECT_GT(keeper.WaitStarted(0).pid, 0);
  const Ended good = keeper.WaitEnded(0);
  EXPECT_EQ(good.end.exit.code, 0);
  EXPECT_EQ(good.end.exit.signal, 0);
  EXPECT_FALSE(good.end.was_stopped);
  EXPECT_LE(good.ended_at, BootTime());
  EXPECT_GE(good.ended_at, BootTime() - absl::Milliseconds(kBoundMs));
  EXPECT_EQ(keeper.WaitEnded(1).end.exit.code, 7);
  const Ended killed = keeper.WaitEnded(2);
  EXPECT_EQ(killed.end.exit.signal, SIGKILL);
  EXPECT_EQ(killed.end.exit.code, 0);
  EXPECT_FALSE(killed.end.was_stopped);
}

TEST(Keeper, ReportsStartedThenEndedOnceEach) {
  TestKeeper keeper;
  keeper.StartShell(0, "exit 0");
  keeper.WaitEnded(0);
  keeper.StartShell(1, "exit 0");
  keeper.WaitEnded(1);
  ASSERT_EQ(keeper.events().size(), 4u);
  EXPECT_TRUE(std::holds_alternative<Started>(keeper.events()[0]));
  EXPECT_TRUE(std::holds_alternative<Ended>(keeper.events()[1]));
}

TEST(Keeper, LastLinesOfBothStreams) {
  TestKeeper keeper;
  keeper.StartShell(0, "for i in $(seq 1 30); do echo out $i; echo err $i >&2; done; printf unfinished");
  const std::vector<std::string> lines = keeper.WaitEnded(0).end.last_lines;
  ASSERT_EQ(lines.size(), 20u);
  EXPECT_EQ(lines[17], "out 30");
  EXPECT_EQ(lines[18], "err 30");
  EXPECT_EQ(lines[19], "unfinished");
}

TEST(Keeper, WhatCantBeStartedSaysWhy) {
  TempFolder folder;
  WriteWholeFile(folder.Path("plain"), "no program");
  WriteWholeFile(folder.Path("script"), "#!/no/such/interpreter\n");
  std::string foreign(64, '\0');  // an ELF header for a processor that no machine has
  foreign.replace(0, 6,
                  "\x7f"
                  "ELF\x02\x01");
  foreign[16] = 2;
  foreign[18] = foreign[19] = '\x77';
  WriteWholeFile(folder.Path("foreign"), foreign);
  WriteWholeFile(folder.Path("by-foreign"), "#!" + folder.Path("foreign") + "\n");
  WriteWholeFile(folder.Path("binary"), std::string("ab\0c\n", 5));
  for (const char* name : {"script", "foreign", "by-foreign", "binary"}) ::chmod(folder.Path(name).c_str(), 0755);
  struct Case {
    ProcessSpec spec;
    int exit_code;
    std::string text;
    absl::string_view reason;
  };
  std::vector<Case> cases = {
      {Command(0, {"no-such-program"}), 127, "no-such-program: not found in PATH", reason::kCommandNotFound},
      {Command(1, {"/no/such/program"}), 127, "/no/such/program: no such file", reason::kCommandNotFound},
      {Command(2, {folder.Path("plain")}), 126, "permission denied", reason::kCannotStart},
      {Command(3, {folder.Path("script")}), 127, "interpreter", reason::kCommandNotFound},
      {Command(4, {}), 126, "empty", reason::kCannotStart},
      {Command(5, {"true"}), 126, "/no/such/folder", reason::kMissingFile},
      {Command(6, {"true"}), 126, "--bind_core", reason::kWrongSettings},
      {Command(7, {"true"}), 126, "--log_dir", reason::kBadPath},
      {Command(8, {"true", std::string(9'000'000, 'x')}), 126, "bytes", reason::kCommandTooLong},
      {Command(9, {"true", std::string(3'000'000, 'x')}), 126, "Argument list too long", reason::kCommandTooLong},
      {Command(10, {folder.Path("foreign")}), 126, "Exec format error: it is a program for", reason::kExecFormatError},
      {Command(11, {folder.Path("by-foreign")}), 126, "/foreign (first line): it is a", reason::kExecFormatError},
      {Command(12, {folder.Path("binary")}), 126, "neither a program nor a script", reason::kExecFormatError},
      {Command(13, {folder.Path("")}), 126, "folder", reason::kCannotStart},
      {Command(14, {"python train.py", "--lr", "1"}), 127, "-- python train.py --lr 1", reason::kCommandNotFound}};
  cases[5].spec.working_directory = "/no/such/folder";
  cases[6].spec.cpus = {60'000};
  cases[7].spec.log_path = folder.Path("plain/log");
  TestKeeper keeper;
  for (const Case& c : cases) keeper.Start(c.spec);
  for (const Case& c : cases) {
    const Ended ended = keeper.WaitEnded(c.spec.key.slot);
    EXPECT_EQ(ended.end.exit.code, c.exit_code) << c.text << " / " << ended.end.launch_error;
    EXPECT_THAT(ended.end.launch_error, HasSubstr(c.text));
    EXPECT_EQ(ended.end.launch_reason, c.reason) << c.text;
    EXPECT_NE(ended.end.launch_remedy, "") << c.text;
    EXPECT_EQ(ended.end.exit.signal, 0);
  }
  for (const KeeperEvent& event : keeper.events()) {
    EXPECT_FALSE(std::holds_alternative<Started>(event)) << "nothing was started";
  }
}

TEST(Keeper, ATextFileWithoutAFirstLineRunsUnderAShell) {
  TempFolder folder;
  WriteWholeFile(folder.Path("plain script"), "echo $0 $1; exit 7\n");
  ::chmod(folder.Path("plain script").c_str(), 0755);
  TestKeeper keeper;
  keeper.Start(Command(0, {folder.Path("plain script"), "one"}));
  ProcessSpec by_path = Command(1, {"plain script", "two"});
  by_path.env = {"PATH=/no/such/folder:" + folder.Path("")};
  keeper.Start(by_path);
  for (const uint32_t slot : {0U, 1U}) {
    const Ended ended = keeper.WaitEnded(slot);
    EXPECT_EQ(ended.end.exit.code, 7) << ended.end.launch_error;
    ASSERT_EQ(ended.end.last_lines.size(), 1U);
    EXPECT_THAT(ended.end.last_lines[0], HasSubstr(slot == 0 ? "plain script one" : "plain script two"));
  }
}

TEST(Keeper, ASecondStartOfALivingKeyIsRefused) {
  TestKeeper keeper;
  keeper.StartShell(0, "exec sleep 1000");
  keeper.StartShell(0, "exit 0");
  EXPECT_THAT(keeper.WaitEnded(0).end.launch_error, HasSubstr("twice"));
}

TEST(Keeper, TheProcessGetsACleanWorld) {
  UniqueFd leaked(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC, on purpose
  ::signal(SIGUSR2, SIG_IGN);
  TempFolder folder;
  cpu_set_t own;
  ASSERT_EQ(::sched_getaffinity(0, sizeof own, &own), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &own)) ++cpu;

  TestKeeper keeper;
  ProcessSpec python = Command(0, {"python3", "-c", R"(
import os, sys
fds = os.listdir('/proc/self/fd')
print(*sorted(f for f in fds if os.path.exists('/proc/self/fd/' + f)))
print(*os.sched_getaffinity(0))
print(os.getcwd() == os.environ['WANTED'], sorted(os.environ) == ['LC_ALL', 'PATH', 'WANTED'])
print(os.getpgrp() == os.getpid(), repr(sys.stdin.read()))
)"});
  const std::string wanted = folder.Path(".").substr(0, folder.Path(".").size() - 2);
  python.env.push_back("WANTED=" + wanted);
  python.working_directory = wanted;
  python.cpus = {cpu};
  keeper.Start(python);
  keeper.Start(Command(1, {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  EXPECT_THAT(keeper.WaitEnded(0).end.last_lines, ElementsAre("0 1 2", absl::StrCat(cpu), "True True", "True ''"));
  EXPECT_THAT(keeper.WaitEnded(1).end.last_lines,
              ElementsAre("SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"));
  ::signal(SIGUSR2, SIG_DFL);
}

TEST(Keeper, StandardInputIsInheritedWhenAsked) {
  PipeEnds pipe = MakeTestPipe();
  UniqueFd saved(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  ::dup2(pipe.read.get(), 0);
  TestKeeper keeper;
  ::dup2(saved.get(), 0);
  ASSERT_EQ(::write(pipe.write.get(), "typed\n", 6), 6);
  keeper.StartShell(0, "read line; echo got $line", [](ProcessSpec& spec) { spec.inherits_stdin = true; });
  EXPECT_THAT(keeper.WaitEnded(0).end.last_lines, ElementsAre("got typed"));
}

TEST(Keeper, EndedComesWhenTheWholeGroupIsGone) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  Fifo go(folder.Path("go"));
  TestKeeper keeper;
  // The grandchild keeps the pipe open and ignores every signal except SIGKILL. Neither delays the report of the end.
  keeper.StartShell(0, absl::StrCat("sh -c 'trap \"\" TERM HUP INT; echo $$ > ", fifo.path(),
                                    "; while :; do sleep 1000; done' & read x < ", go.path(), "; echo bye; exit 3"));
  UniqueFd grandchild = fifo.ReadPid();
  go.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 3);
  EXPECT_TRUE(EndsWithin(grandchild, 0)) << "reported before the group was gone";
  EXPECT_THAT(ended.end.last_lines, ElementsAre("bye"));
}

TEST(Keeper, ADaemonThatHoldsThePipeEndsWithItsProcess) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  Fifo go(folder.Path("go"));
  TestKeeper keeper;
  keeper.StartShell(0, absl::StrCat("setsid sh -c 'echo $$ > ", fifo.path(), "; exec sleep 1000' & read x < ",
                                    go.path(), "; echo last words"));
  UniqueFd daemon = fifo.ReadPid();
  go.WriteLine("go");
  EXPECT_THAT(keeper.WaitEnded(0).end.last_lines, ElementsAre("last words"));
  EXPECT_TRUE(EndsWithin(daemon, 0)) << "reported before all its descendants were gone";
}

TEST(Keeper, AZombieOfAForeignParentDoesNotHoldTheGroup) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  // The parent leaves the group after it has forked a child in it, and never reaps that child.
  WriteWholeFile(folder.Path("parent.py"), absl::StrCat("import os, time\n"
                                                        "if os.fork() == 0:\n  time.sleep(1000)\n"
                                                        "os.setsid()\n"
                                                        "open('",
                                                        fifo.path(),
                                                        "', 'w').write(f'{os.getpid()}\\n')\n"
                                                        "time.sleep(1000)\n"));
  keeper.StartShell(0, absl::StrCat("python3 ", folder.Path("parent.py"), " & echo seen; exec sleep 1000"));
  UniqueFd parent = fifo.ReadPid();
  const MonotonicTime begin = BootTime();
  keeper->StopAll();
  EXPECT_THAT(keeper.WaitEnded(0).end.last_lines, ElementsAre("seen"));
  EXPECT_LT(BootTime() - begin, absl::Milliseconds(20'000)) << "it waited for stop_timeout";
  EXPECT_TRUE(EndsWithin(parent, 0));
}

// A descendant belongs to its process wherever it goes, and to no other process.
TEST(Keeper, WhatLeftItsGroupEndsWithItsProcessWhileOthersRun) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  Fifo go(folder.Path("go"));
  TestKeeper keeper;
  const std::string daemon = absl::StrCat("env -i setsid sh -c 'echo $$ > ", fifo.path(), "; exec sleep 1000' & ");
  keeper.StartShell(0, daemon + "exec sleep 1000");
  UniqueFd others = fifo.ReadPid();
  keeper.StartShell(1, absl::StrCat(daemon, "read x < ", go.path(), "; exit 3"));
  UniqueFd own = fifo.ReadPid();
  go.WriteLine("go");
  EXPECT_EQ(keeper.WaitEnded(1).end.exit.code, 3);
  EXPECT_TRUE(EndsWithin(own, 0)) << "the next attempt would run beside it";
  EXPECT_FALSE(EndsWithin(others, 0)) << "slot 0 runs, and it is slot 0's";
  keeper->Stop({0, 1, 0});
  keeper.WaitEnded(0);
  EXPECT_TRUE(EndsWithin(others, 0));
}

TEST(Keeper, NoZombiesRemain) {
  TestKeeper keeper;
  for (uint32_t slot = 0; slot < 8; ++slot) {
    keeper.StartShell(slot, "setsid true & (true & true &) ; exec true");
  }
  for (uint32_t slot = 0; slot < 8; ++slot) keeper.WaitEnded(slot);
  keeper.StartShell(9, "exit 0");
  keeper.WaitEnded(9);
  const MonotonicTime deadline = BootTime() + absl::Milliseconds(kBoundMs);
  const pid_t pid = static_cast<pid_t>(keeper->pid());
  while (!AllBelow(pid).empty() && BootTime() < deadline) keeper->Poll();
  EXPECT_TRUE(AllBelow(pid).empty());
}

TEST(Keeper, KillAllMeansOnlyWhatRuns) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.StartShell(0, "trap '' TERM; while :; do sleep 1000; done");
  keeper->KillAll();
  keeper.StartShell(1, absl::StrCat("echo second > ", fifo.path(), "; exec sleep 1000"));
  const Ended first = keeper.WaitEnded(0);
  EXPECT_EQ(first.end.exit.signal, SIGKILL);
  EXPECT_TRUE(first.end.was_stopped);
  EXPECT_EQ(fifo.ReadLine(), "second");
  keeper->Stop({1, 1, 0});
  EXPECT_EQ(keeper.WaitEnded(1).end.exit.signal, SIGTERM);
}

TEST(Keeper, TheErrorFileIsRemovedBeforeAndReadAfterwards) {
  TempFolder folder;
  WriteWholeFile(folder.Path("old"), R"({"message": "from an earlier life"})");
  TestKeeper keeper;
  keeper.StartShell(0, "exit 1", [&](ProcessSpec& spec) { spec.error_file = folder.Path("old"); });
  const std::string write =
      absl::StrCat(R"(echo '{"message": {"message": "boom"}}' > )", folder.Path("new"), "; exit 1");
  keeper.StartShell(1, write, [&](ProcessSpec& spec) { spec.error_file = folder.Path("new"); });
  EXPECT_EQ(keeper.WaitEnded(0).end.error_message, "");
  EXPECT_EQ(keeper.WaitEnded(1).end.error_message, "boom");
}

TEST(Keeper, ManyProcessesAtOnce) {
  TestKeeper keeper;
  for (uint32_t slot = 0; slot < 64; ++slot) keeper.StartShell(slot, absl::StrCat("echo ", slot, "; exit ", slot));
  for (uint32_t slot = 0; slot < 64; ++slot) {
    const Ended ended = keeper.WaitEnded(slot);
    EXPECT_EQ(ended.end.exit.code, static_cast<int>(slot));
    EXPECT_THAT(ended.end.last_lines, ElementsAre(absl::StrCat(slot)));
  }
}

TEST(Keeper, NoMessageIsLostWhenTheAgentIsSlow) {
  // The messages in both directions are far larger than a socket's buffer, and the test calls no Poll until all are
  // sent.
  TestKeeper keeper;
  const std::string padding(60'000, 'x');
  for (uint32_t slot = 0; slot < 100; ++slot) {
    keeper.StartShell(slot, "head -c 12000 /dev/zero | tr '\\0' 'y' | fold -w 500",
                      [&](ProcessSpec& spec) { spec.env.push_back("PADDING=" + padding); });
  }
  for (uint32_t slot = 0; slot < 100; ++slot) EXPECT_EQ(keeper.WaitEnded(slot).end.last_lines.size(), 20u);
}

TEST(Keeper, TheDestructorLeavesNothingBehind) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.StartShell(
      0, absl::StrCat("setsid sh -c 'echo $$ > ", fifo.path(), "; exec sleep 1000' & trap '' TERM; echo $$ > ",
                      fifo.path(), "; while :; do sleep 1000; done"));
  UniqueFd one = fifo.ReadPid();
  UniqueFd two = fifo.ReadPid();
  const MonotonicTime begin = BootTime();
  keeper.Destroy();
  EXPECT_TRUE(EndsWithin(one, 0));
  EXPECT_TRUE(EndsWithin(two, 0));
  EXPECT_TRUE(AllBelow(::getpid()).empty());
  EXPECT_LT(BootTime() - begin, absl::Milliseconds(4000));
}

}  // namespace
}  // namespace muster::agent
