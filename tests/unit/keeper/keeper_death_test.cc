// The agent or the keeper dies or hangs.
//
// The agent is a child of the test that spawns a keeper and follows a script; the test kills it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/sys/secret_descriptor.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/agent_watch.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/process/last_report.h"

namespace muster::agent {
namespace {

// Forks an agent that runs `work` with its keeper and then sleeps.
pid_t ForkAgent(const std::function<void(TestKeeper&)>& work, KeeperOptions options = {}) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  TestKeeper keeper(options);
  work(keeper);
  while (true) ::pause();
}

// A script for two processes that are hard to kill: one in the process group, one that has left it.
std::string Family(const Fifo& fifo) {
  const std::string member =
      absl::StrCat("trap \"\" TERM HUP INT; echo $$ > ", fifo.path(), "; while :; do sleep 1000; done");
  return absl::StrCat("setsid sh -c '", member, "' & sh -c '", member, "' & ", member);
}

LastReportCommand EchoLastReport(const Fifo& fifo) {
  return {{"sh", "-c", absl::StrCat("echo last_report {signal} {exit_code} $WHO > ", fifo.path())},
          {"PATH=/usr/bin:/bin", "WHO=me"}};
}

class KeeperDeath : public ::testing::Test {
 protected:
  std::vector<UniqueFd> ReadPids(size_t count) {
    std::vector<UniqueFd> pidfds;
    for (size_t i = 0; i < count; ++i) pidfds.push_back(fifo_.ReadPid());
    return pidfds;
  }
  void ExpectAllGoneWithin(const std::vector<UniqueFd>& pidfds, int64_t bound_ms) {
    const MonotonicTime deadline = BootTime() + absl::Milliseconds(bound_ms);
    for (const UniqueFd& pidfd : pidfds) {
      EXPECT_TRUE(EndsWithin(pidfd, std::max<int64_t>(absl::ToInt64Milliseconds(deadline - BootTime()), 0)));
    }
  }

  TempFolder folder_;
  Fifo fifo_{folder_.Path("fifo")};
  Fifo last_report_{folder_.Path("last_report")};
};

TEST_F(KeeperDeath, OfTheAgentEndsEverythingWithinASecondAndSendsTheLastReport) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper->SetLastReport(EchoLastReport(last_report_));
    keeper.StartShell(0, Family(fifo_));
    keeper.StartShell(1, Family(fifo_));
  });
  const std::vector<UniqueFd> family = ReadPids(6);
  ::kill(agent, SIGKILL);
  ExpectAllGoneWithin(family, 1000);
  EXPECT_EQ(last_report_.ReadLine(), "last_report 9 0 me");  // the test is the parent and hasn't reaped it
  ::waitpid(agent, nullptr, 0);
}

// The secret is larger than a pipe's buffer.
TEST_F(KeeperDeath, TheLastReportIsHandedASecret) {
  const std::string secret(200'000, 's');
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    LastReportCommand command = EchoLastReport(last_report_);
    command.argv = {"bash", "-c", absl::StrCat("echo got $(wc -c <&$SECRET) > ", last_report_.path())};
    command.hand_over = {"SECRET", std::make_shared<const UniqueFd>(MakeSecretDescriptor(secret).value())};
    keeper->SetLastReport(command);
    keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec sleep 1000"));
  });
  ReadPids(1);
  ::kill(agent, SIGKILL);
  EXPECT_EQ(last_report_.ReadLine(), "got 200000");
  ::waitpid(agent, nullptr, 0);
}

TEST_F(KeeperDeath, AlsoWith64Processes) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    for (uint32_t slot = 0; slot < 64; ++slot) keeper.StartShell(slot, Family(fifo_));
  });
  const std::vector<UniqueFd> family = ReadPids(192);
  ::kill(agent, SIGKILL);
  ExpectAllGoneWithin(family, 1000);
  ::waitpid(agent, nullptr, 0);
}

TEST_F(KeeperDeath, TheAgentsExitCodeIsPassedOn) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper->SetLastReport(EchoLastReport(last_report_));
    keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec sleep 1000"));
    while (true) {
      keeper.WaitStarted(0);
      ::_exit(77);
    }
  });
  EXPECT_EQ(last_report_.ReadLine(), "last_report 0 77 me");
  ::waitpid(agent, nullptr, 0);
}

TEST_F(KeeperDeath, AnAgentThatEndsInOrderSendsNoLastReport) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper->SetLastReport(EchoLastReport(last_report_));
    keeper.Destroy();
    last_report_.WriteLine("destroyed");
  });
  EXPECT_EQ(last_report_.ReadLine(), "destroyed");
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  EXPECT_EQ(last_report_.ReadLine(0), "(nothing came)") << "the keeper had ended by then";
}

TEST_F(KeeperDeath, AnAgentThatWasStoppedByAFullTerminalDiesLikeAnyOther) {
  PipeEnds pipe = MakeTestPipe();
  pid_t agent = 0;
  {
    StreamsTo streams(pipe.write.get(), pipe.write.get());
    agent = ForkAgent([&](TestKeeper& keeper) {
      keeper->SetLastReport(EchoLastReport(last_report_));
      keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec yes"),
                        [](ProcessSpec& spec) { spec.passes_output = true; });
    });
  }
  const std::vector<UniqueFd> yes = ReadPids(1);
  // When nothing more fits into the pipe, the keeper is in the state that is tested.
  pollfd full{pipe.write.get(), POLLOUT, 0};
  const MonotonicTime deadline = BootTime() + absl::Milliseconds(kBoundMs);
  while (::poll(&full, 1, 0) == 1 && BootTime() < deadline) ::poll(nullptr, 0, 1);
  ::kill(agent, SIGKILL);
  ExpectAllGoneWithin(yes, 1000);
  EXPECT_EQ(last_report_.ReadLine(), "last_report 9 0 me");
  ::waitpid(agent, nullptr, 0);
}

TEST_F(KeeperDeath, OfTheKeeperIsReportedAndTheAgentCleansUp) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    const pid_t scheduler = ::fork();  // a child of the agent itself
    if (scheduler == 0) {
      while (true) ::pause();
    }
    Keeper::Spare(scheduler);
    keeper.StartShell(0, Family(fifo_));
    keeper.WaitStarted(0);
    last_report_.WriteLine(absl::StrCat(keeper->pid()));
    last_report_.WriteLine(absl::StrCat(scheduler));
    if (!keeper.WaitLost()) ::_exit(1);
    EXPECT_TRUE(Keeper::KillAllDescendants(absl::Seconds(10)).ok());
    const std::vector<ProcessInfo> left = AllBelow(::getpid());
    const bool is_clean = left.size() == 1 && left[0].pid == scheduler;
    keeper->StopAll();  // has no effect
    keeper.Destroy();
    ::_exit(is_clean && ::kill(scheduler, SIGKILL) == 0 ? 42 : 1);
  });
  const std::vector<UniqueFd> family = ReadPids(3);
  const pid_t keeper = std::stoi(last_report_.ReadLine());
  UniqueFd scheduler = last_report_.ReadPid();
  ::kill(keeper, SIGKILL);
  ExpectAllGoneWithin(family, 1000);
  int status = 0;
  ::waitpid(agent, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(EndsWithin(scheduler, kBoundMs));
}

TEST_F(KeeperDeath, WithoutAnAgentThatActsTheLeadersDieByThemselves) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper.StartShell(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec sleep 1000"));
    keeper.WaitStarted(0);
    last_report_.WriteLine(absl::StrCat(keeper->pid()));
  });
  const std::vector<UniqueFd> leader = ReadPids(1);
  ::kill(std::stoi(last_report_.ReadLine()), SIGKILL);
  ExpectAllGoneWithin(leader, 1000);
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
}

TEST_F(KeeperDeath, AHungKeeperDoesNotHangTheDestructor) {
  TestKeeper keeper;
  keeper.StartShell(0, Family(fifo_));
  const std::vector<UniqueFd> family = ReadPids(3);
  ::kill(static_cast<pid_t>(keeper->pid()), SIGSTOP);
  const MonotonicTime begin = BootTime();
  keeper.Destroy();
  EXPECT_LT(BootTime() - begin, absl::Milliseconds(10'000));
  ExpectAllGoneWithin(family, 0);
  EXPECT_TRUE(AllBelow(::getpid()).empty());
}

TEST_F(KeeperDeath, TheFenceFallsWhileTheAgentHangs) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper.StartShell(0, absl::StrCat("trap 'echo got TERM > ", fifo_.path(), "; exit 0' TERM; echo $$ > ",
                                      fifo_.path(), "; while :; do sleep 0.01; done"));
    keeper.WaitStarted(0);
    keeper->SetFence(BootTime() + absl::Milliseconds(500));
    ::raise(SIGSTOP);
    if (keeper.WaitFenceFell()) last_report_.WriteLine("fell");
    keeper.WaitEnded(0);
    last_report_.WriteLine("ended");
  });
  const std::vector<UniqueFd> process = ReadPids(1);
  int status = 0;
  ASSERT_EQ(::waitpid(agent, &status, WUNTRACED), agent);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(fifo_.ReadLine(), "got TERM");
  ExpectAllGoneWithin(process, kBoundMs);
  ::kill(agent, SIGCONT);
  EXPECT_EQ(last_report_.ReadLine(), "fell");
  EXPECT_EQ(last_report_.ReadLine(), "ended");
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
}

// ------------------------------------------------------------------------------------------ several of them at once

// Any three of agent, guardian, keeper and shim are killed at once: the fourth ends all the rest, including
// grandchildren in sessions of their own.
class KeeperDeathOfThree : public KeeperDeath, public ::testing::WithParamInterface<const char*> {};

TEST_P(KeeperDeathOfThree, NothingIsLeft) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper.StartShell(0, Family(fifo_));
    keeper.WaitLost();
    EXPECT_TRUE(Keeper::KillAllDescendants(absl::Seconds(10)).ok());
  });
  const std::vector<UniqueFd> family = ReadPids(3);
  std::vector<pid_t> victims;
  for (const char* name : {"ms-guardian", "ms-keeper", "ms-shim"}) {
    const std::vector<pid_t> found = NamedBelow(agent, name);
    ASSERT_EQ(found.size(), 1u) << name;
    if (name != std::string(GetParam())) victims.push_back(found[0]);
  }
  if (std::string("agent") != GetParam()) victims.push_back(agent);
  SignalAll(victims, SIGSTOP);  // so that none has the time to clean up after the others
  SignalAll(victims, SIGKILL);
  ExpectAllGoneWithin(family, kBoundMs);
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
}
INSTANTIATE_TEST_SUITE_P(AllBut, KeeperDeathOfThree, ::testing::Values("agent", "ms-guardian", "ms-keeper", "ms-shim"));

// One of the four is killed while the other three are stopped. The one below it wakes and ends the rest. (The shim has
// none of the four below it: after its death one of those above it must be running.)
class KeeperDeathOfOne : public KeeperDeath, public ::testing::WithParamInterface<const char*> {};

TEST_P(KeeperDeathOfOne, WakesAStoppedOneThatEndsTheRest) {
  KeeperOptions options;
  options.fence_stop_timeout = absl::Milliseconds(100);
  const pid_t agent = ForkAgent(
      [&](TestKeeper& keeper) {
        keeper.StartShell(0, Family(fifo_));
        keeper.WaitStarted(0);
        keeper->SetFence(BootTime() + absl::Milliseconds(1500));
        last_report_.WriteLine("armed");
      },
      options);
  const std::vector<UniqueFd> family = ReadPids(3);
  EXPECT_EQ(last_report_.ReadLine(), "armed");
  std::vector<pid_t> row = {agent};
  for (const char* name : {"ms-guardian", "ms-keeper", "ms-shim"}) {
    const std::vector<pid_t> found = NamedBelow(agent, name);
    ASSERT_EQ(found.size(), 1u) << name;
    row.push_back(found[0]);
  }
  const pid_t victim = GetParam() == std::string("agent") ? agent : NamedBelow(agent, GetParam()).at(0);
  SignalAll(row, SIGSTOP);
  SignalAll({victim}, SIGKILL);
  ExpectAllGoneWithin(family, kBoundMs);
  SignalAll(row, SIGKILL);  // those that are still stopped
  ::waitpid(agent, nullptr, 0);
}
INSTANTIATE_TEST_SUITE_P(Of, KeeperDeathOfOne, ::testing::Values("agent", "ms-guardian", "ms-keeper"));

// Keeps a process from running, like a machine that leaves it no time. SIGSTOP would not do: its parent's death wakes
// it.
void Hold(pid_t pid) {
  EXPECT_EQ(::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0);
  EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0);
  EXPECT_EQ(::waitpid(pid, nullptr, __WALL), pid);
}
void LetGo(pid_t pid) { EXPECT_EQ(::ptrace(PTRACE_DETACH, pid, nullptr, nullptr), 0); }

// Agent and guardian die a moment after the keeper. By then the guardian has killed the shims, but not the shims'
// processes.
TEST_F(KeeperDeath, ShimsAreLeftTheTimeToEndWhatIsTheirOwn) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) { keeper.StartShell(0, Family(fifo_)); });
  const std::vector<UniqueFd> family = ReadPids(3);
  const std::vector<pid_t> shims = NamedBelow(agent, "ms-shim");
  const std::vector<pid_t> keepers = NamedBelow(agent, "ms-keeper");
  const std::vector<pid_t> guardians = NamedBelow(agent, "ms-guardian");
  ASSERT_EQ(shims.size() * keepers.size() * guardians.size(), 1U);
  Hold(shims[0]);
  const UniqueFd shim(static_cast<int>(::syscall(SYS_pidfd_open, shims[0], 0)));
  SignalAll(keepers, SIGKILL);
  EXPECT_FALSE(EndsWithin(shim, 100)) << "the guardian has seen it by now";
  SignalAll({agent, guardians[0]}, SIGKILL);
  LetGo(shims[0]);
  ExpectAllGoneWithin(family, kBoundMs);
  ::waitpid(agent, nullptr, 0);
  ::waitpid(shims[0], nullptr, 0);  // it is a child of the test by now
}

// The agent leaves shims that time, too, when it cleans up after its keeper.
TEST_F(KeeperDeath, AlsoByTheAgent) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) {
    keeper.StartShell(0, Family(fifo_));
    keeper.WaitLost();
    EXPECT_TRUE(Keeper::KillAllDescendants(absl::Seconds(10)).ok());
  });
  const std::vector<UniqueFd> family = ReadPids(3);
  const std::vector<pid_t> shims = NamedBelow(agent, "ms-shim");
  std::vector<pid_t> above = NamedBelow(agent, "ms-guardian");
  for (const pid_t keeper : NamedBelow(agent, "ms-keeper")) above.push_back(keeper);
  ASSERT_EQ(shims.size(), 1U);
  Hold(shims[0]);
  const UniqueFd shim(static_cast<int>(::syscall(SYS_pidfd_open, shims[0], 0)));
  SignalAll(above, SIGKILL);
  EXPECT_FALSE(EndsWithin(shim, 100)) << "the agent has seen it by now";
  SignalAll({agent}, SIGKILL);
  LetGo(shims[0]);
  ExpectAllGoneWithin(family, kBoundMs);
  ::waitpid(agent, nullptr, 0);
  ::waitpid(shims[0], nullptr, 0);  // it is a child of the test by now
}

TEST_F(KeeperDeath, OfAShimEndsItsProcessAndTheOthersGoOn) {
  TestKeeper keeper;
  keeper.StartShell(0, Family(fifo_));
  const std::vector<UniqueFd> first = ReadPids(3);
  const std::vector<pid_t> shim = NamedBelow(::getpid(), "ms-shim");
  ASSERT_EQ(shim.size(), 1u);
  keeper.StartShell(1, Family(fifo_));
  const std::vector<UniqueFd> second = ReadPids(3);
  SignalAll(shim, SIGKILL);
  const Ended ended = keeper.WaitEnded(0);
  ExpectAllGoneWithin(first, 0);
  EXPECT_EQ(ended.end.exit.signal, SIGKILL);
  EXPECT_FALSE(ended.end.was_stopped);
  for (const UniqueFd& pidfd : second) EXPECT_FALSE(EndsWithin(pidfd, 0));
  keeper->KillAll();
  keeper.WaitEnded(1);
  ExpectAllGoneWithin(second, 0);
}

TEST_F(KeeperDeath, AShimThatIsStoppedIsKilledWhenItsProcessMustEnd) {
  TestKeeper keeper;
  keeper.StartShell(0, Family(fifo_));
  const std::vector<UniqueFd> family = ReadPids(3);
  SignalAll(NamedBelow(::getpid(), "ms-shim"), SIGSTOP);
  keeper->KillAll();
  const Ended ended = keeper.WaitEnded(0);
  ExpectAllGoneWithin(family, 0);
  EXPECT_TRUE(ended.end.was_stopped);
}

// Agent and keeper are stopped, as by a debugger or a frozen container that thaws in part, so neither can keep the
// fence.
TEST_F(KeeperDeath, AFenceThatTheKeeperDoesNotObeyIsKeptByTheGuardian) {
  KeeperOptions options;
  options.fence_stop_timeout = absl::Milliseconds(100);
  const pid_t agent = ForkAgent(
      [&](TestKeeper& keeper) {
        keeper.StartShell(0, Family(fifo_));
        keeper.WaitStarted(0);
        keeper->SetFence(BootTime() + absl::Milliseconds(1500));
        last_report_.WriteLine(absl::StrCat(keeper->pid()));
      },
      options);
  const std::vector<UniqueFd> family = ReadPids(3);
  ::kill(std::stoi(last_report_.ReadLine()), SIGSTOP);
  ::kill(agent, SIGSTOP);
  ExpectAllGoneWithin(family, kBoundMs);
  SignalAll({agent}, SIGKILL);
  ::waitpid(agent, nullptr, 0);
}

// ------------------------------------------------------------------------------------------------- no descriptors

// Takes all descriptors, so that no process below the agent can open anything.
void TakeAllDescriptors(pid_t root) {
  const rlimit none{0, 0};
  for (const char* name : {"ms-guardian", "ms-keeper", "ms-shim"}) {
    for (const pid_t pid : NamedBelow(root, name)) EXPECT_EQ(::prlimit(pid, RLIMIT_NOFILE, &none, nullptr), 0);
  }
}

// A keeper that could not open /proc once took a living group for gone, and the next round ran at the same time.
TEST_F(KeeperDeath, AKeeperWithoutDescriptorsTakesNoProcessForGone) {
  TestKeeper keeper;
  keeper.StartShell(0, absl::StrCat("sh -c 'trap \"\" TERM; echo $$ > ", fifo_.path(),
                                    "; while :; do sleep 1000; done' & exec sleep 1000"));
  const UniqueFd stubborn = fifo_.ReadPid();
  const UniqueFd leader(static_cast<int>(::syscall(SYS_pidfd_open, keeper.WaitStarted(0).pid, 0)));
  TakeAllDescriptors(::getpid());
  keeper->StopAll();
  EXPECT_TRUE(EndsWithin(leader, kBoundMs));
  // By now it has looked at the group ten times.
  EXPECT_FALSE(EndsWithin(stubborn, 2000));
  for (const KeeperEvent& event : keeper->Poll()) EXPECT_FALSE(std::holds_alternative<Ended>(event));
  keeper->KillAll();
  keeper.WaitEnded(0);
  EXPECT_TRUE(EndsWithin(stubborn, 0));
}

TEST_F(KeeperDeath, WithoutDescriptorsEverythingStillEnds) {
  const pid_t agent = ForkAgent([&](TestKeeper& keeper) { keeper.StartShell(0, Family(fifo_)); });
  const std::vector<UniqueFd> family = ReadPids(3);
  TakeAllDescriptors(agent);
  ::kill(agent, SIGKILL);
  ExpectAllGoneWithin(family, kBoundMs);
  ::waitpid(agent, nullptr, 0);
}

TEST_F(KeeperDeath, SignalsFromATerminalDontReachTheKeeper) {
  TestKeeper keeper;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1})
    ::kill(static_cast<pid_t>(keeper->pid()), signal);
  keeper.StartShell(0, "exit 3");
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.code, 3);
  EXPECT_NE(::getsid(static_cast<pid_t>(keeper->pid())), ::getsid(0));
}

TEST_F(KeeperDeath, TheKeeperIsKnownByItsName) {
  TestKeeper keeper;
  keeper.StartShell(0, "exit 0");
  keeper.WaitEnded(0);
  EXPECT_EQ(ReadWholeFile(absl::StrCat("/proc/", keeper->pid(), "/comm")), "ms-keeper\n");
  const std::string shown = ReadWholeFile(absl::StrCat("/proc/", keeper->pid(), "/cmdline"));
  EXPECT_EQ(std::string(shown.c_str()), "ms-keeper");
  EXPECT_EQ(shown.find("keeper_death_test"), std::string::npos);
}

TEST(AgentWatch, ReportsWhatAProcessDiedOf) {
  struct Case {
    std::function<void()> die;
    int signal, exit_code;
  };
  for (const Case& c :
       {Case{[] { ::_exit(0); }, 0, 0}, Case{[] { ::_exit(200); }, 0, 200}, Case{[] { ::raise(SIGKILL); }, SIGKILL, 0},
        Case{[] {
               const rlimit none{0, 0};
               ::setrlimit(RLIMIT_CORE, &none);
               ::signal(SIGSEGV, SIG_DFL);
               ::raise(SIGSEGV);
             },
             SIGSEGV, 0}}) {
    // The watched process forks its watcher, as the agent forks its keeper.
    PipeEnds result = MakeTestPipe();
    PipeEnds looked = MakeTestPipe();
    const pid_t watched = ::fork();
    if (watched == 0) {
      AgentWatch watch = AgentWatch::OfThisProcess();
      if (::fork() == 0) {
        const bool is_early = watch.ReadFate().has_value() || watch.IsDead();
        looked.write.reset();
        pollfd dead{watch.fd(), POLLIN, 0};
        ::poll(&dead, 1, static_cast<int>(kBoundMs));
        const ExitStatus fate = watch.ReadFate().value_or(ExitStatus{-1, -1});
        ::dprintf(result.write.get(), "%d %d %d", is_early ? 1 : 0, fate.signal, fate.code);
        ::_exit(0);
      }
      looked.write.reset();
      ReadToEnd(looked.read);
      c.die();
      ::_exit(1);
    }
    looked.write.reset();
    result.write.reset();
    EXPECT_EQ(ReadToEnd(result.read), absl::StrCat("0 ", c.signal, " ", c.exit_code));
    ::waitpid(watched, nullptr, 0);
  }
}

TEST(LastReport, PlaceholdersAreFilledInWhereverTheyStand) {
  EXPECT_EQ(FillLastReport({"x", "--signal={signal}", "{exit_code}{signal}", "{other}"}, {3, 9}),
            (std::vector<std::string>{"x", "--signal=9", "39", "{other}"}));
}

}  // namespace
}  // namespace muster::agent
