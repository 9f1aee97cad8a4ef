// Stops of real processes through a keeper: by the stop signal, like Ctrl-C, and at the deadline.
#include <gtest/gtest.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

KeeperOptions ShortStop() {
  KeeperOptions options;
  options.stop_timeout = absl::Milliseconds(200);
  return options;
}

TEST(Keeper, StopSignalsTheLeader) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.StartShell(0,
                    absl::StrCat("trap 'exit 5' TERM; echo ready > ", fifo.path(), "; while :; do sleep 0.01; done"));
  keeper.StartShell(1, "exec sleep 1000");
  keeper.WaitStarted(1);
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->Stop({0, 1, 0});
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 5);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_EQ(keeper.events().size(), 3u) << "the other one runs on";
  keeper->StopAll();
  EXPECT_EQ(keeper.WaitEnded(1).end.exit.signal, SIGTERM);
}

TEST(Keeper, AChildThatIgnoresTheStopSignalIsKilledAtTheDeadline) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper(ShortStop());
  keeper.StartShell(0, absl::StrCat("trap '' TERM; echo ready > ", fifo.path(), "; while :; do sleep 1000; done"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  const MonotonicTime begin = BootTime();
  keeper->StopAll();
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.signal, SIGKILL);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_GE(ended.ended_at - begin, absl::Milliseconds(199));
  EXPECT_LE(ended.ended_at - begin, absl::Seconds(5));
}

TEST(Keeper, ASuspendedProcessHearsTheStopSignal) {
  TestKeeper keeper;
  keeper.StartShell(0, "kill -STOP $$");
  keeper.WaitStarted(0);
  keeper->StopAll();
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.signal, SIGTERM);
}

TEST(Keeper, AnotherStopSignalAndForwarding) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  KeeperOptions options;
  options.stop_signal = SIGINT;
  TestKeeper keeper(options);
  keeper.StartShell(0, absl::StrCat("trap 'echo usr1 > ", fifo.path(), "' USR1; trap 'exit 9' INT; echo ready > ",
                                    fifo.path(), "; while :; do sleep 0.01; done"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->Forward(SIGUSR1);
  EXPECT_EQ(fifo.ReadLine(), "usr1");
  keeper->StopAll();
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.code, 9);
}

// Reports each signal that it gets on the fifo. It reports SIGINT only if `hears_interrupt`, otherwise it ignores
// SIGINT.
std::string Reporter(const std::string& fifo, bool hears_interrupt = true) {
  return absl::StrCat(hears_interrupt ? absl::StrCat("trap 'echo int > ", fifo, "' INT; ") : "trap '' INT; ",
                      "trap 'echo term > ", fifo, "; exit 4' TERM; echo ready > ", fifo,
                      "; while :; do sleep 0.01; done");
}

TEST(Keeper, AnInterruptGoesToTheWholeGroupAndTheStopSignalFollows) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.Start(Command(0, {"bash", "-c", absl::StrCat("sh -c \"", Reporter(fifo.path()), "\"; true")}));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->StopAll(absl::Milliseconds(300));
  EXPECT_EQ(fifo.ReadLine(), "int") << "the wrapper's child, as from a terminal";
  EXPECT_EQ(fifo.ReadLine(), "term");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_TRUE(ended.end.was_stopped);
  EXPECT_EQ(ended.end.exit.signal, SIGTERM) << "bash waits for its child, and gets the signal then";
}

TEST(Keeper, WhatAnInterruptLeavesHasTheTimeUntilTheStopSignal) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  WriteWholeFile(folder.Path("child.sh"), Reporter(fifo.path()));
  // This wrapper does not wait for its child when it is interrupted.
  keeper.Start(Command(0, {"python3", "-c",
                           absl::StrCat("import subprocess, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "
                                        "subprocess.run(['sh', '",
                                        folder.Path("child.sh"), "'])")}));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  const MonotonicTime begin = BootTime();
  keeper->StopAll(absl::Milliseconds(400));
  EXPECT_EQ(fifo.ReadLine(), "int");
  EXPECT_EQ(fifo.ReadLine(), "term");
  EXPECT_GE(BootTime() - begin, absl::Milliseconds(399)) << "it may be saving";
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.signal, SIGINT);
}

TEST(Keeper, WhatIgnoresAnInterruptIsToldToStopAtOnce) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  WriteWholeFile(folder.Path("child.sh"), Reporter(fifo.path(), /*hears_interrupt=*/false));
  keeper.StartShell(0, absl::StrCat("sh ", folder.Path("child.sh"), " & wait"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  const MonotonicTime begin = BootTime();
  keeper->StopAll(absl::Seconds(25));
  EXPECT_EQ(fifo.ReadLine(), "term");
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.signal, SIGINT);
  EXPECT_LE(BootTime() - begin, absl::Seconds(15));
}

TEST(Keeper, AnInterruptedProcessIsKilledWhenItsTimeIsOver) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper(ShortStop());
  keeper.StartShell(0, absl::StrCat("trap '' INT TERM; echo ready > ", fifo.path(), "; while :; do sleep 0.01; done"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->StopAll(absl::Milliseconds(70));
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.signal, SIGKILL);
}

TEST(Keeper, WhatAWrapperLeavesBehindGetsTheStopSignalToo) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  Fifo go(folder.Path("go"));
  TestKeeper keeper;
  WriteWholeFile(folder.Path("child.py"), absl::StrCat("import signal, sys, os, time\n"
                                                       "def tell(text):\n  with open('",
                                                       fifo.path(),
                                                       "', 'w') as f: f.write(f'{text}\\n')\n"
                                                       "def end(*a):\n  tell('python got it')\n  open('",
                                                       go.path(),
                                                       "').readline()\n  sys.exit(0)\n"
                                                       "signal.signal(signal.SIGTERM, end)\n"
                                                       "tell(os.getpid())\n"
                                                       "while True: time.sleep(1000)\n"));
  keeper.Start(Command(0, {"bash", "-c", absl::StrCat("python3 ", folder.Path("child.py"), "; true")}));
  UniqueFd python = fifo.ReadPid();
  const pid_t bash = static_cast<pid_t>(keeper.WaitStarted(0).pid);
  keeper->StopAll();
  EXPECT_EQ(fifo.ReadLine(), "python got it");
  EXPECT_TRUE(HasLivingMember(bash));
  EXPECT_TRUE(keeper->Poll().empty()) << "python saves its work: this isn't the end yet";
  go.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_TRUE(EndsWithin(python, 0)) << "reported before the group was gone";
  EXPECT_EQ(ended.end.exit.signal, SIGTERM);
  EXPECT_TRUE(ended.end.was_stopped);
}

TEST(Keeper, OfAStopWhatLeftTheGroupIsKilledWhenTheGroupIsEmpty) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  TestKeeper keeper;
  keeper.StartShell(0, absl::StrCat("setsid sh -c 'trap \"\" TERM; echo $$ > ", fifo.path(),
                                    "; while :; do sleep 1000; done' & exec sleep 1000"));
  UniqueFd daemon = fifo.ReadPid();
  keeper->Stop({0, 1, 0});
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.signal, SIGTERM);
  EXPECT_TRUE(EndsWithin(daemon, 0));
}

}  // namespace
}  // namespace muster::agent
