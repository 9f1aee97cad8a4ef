// The path of processes' output, as seen at the keeper's own stdout and stderr.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

void PassThrough(ProcessSpec& spec) { spec.passes_output = true; }

TEST(KeeperOutput, PassesOnUnchangedAndInOrder) {
  PipedKeeper piped;
  std::string wanted;
  for (int i = 1; i <= 200; ++i) absl::StrAppend(&wanted, "out ", i, "\nerr ", i, "\n");
  wanted += "\r50%\x1b[31m no end";
  piped.keeper->StartShell(
      0, "for i in $(seq 1 200); do echo out $i; echo err $i >&2; done; printf '\\r50%%\\033[31m no end'", PassThrough);
  piped.keeper->WaitEnded(0);
  EXPECT_EQ(piped.EndAndRead(), wanted);
}

TEST(KeeperOutput, KeepsStdoutAndStderrApart) {
  PipeEnds out = MakeTestPipe();
  PipeEnds err = MakeTestPipe();
  std::optional<TestKeeper> keeper;
  {
    StreamsTo streams(out.write.get(), err.write.get());
    keeper.emplace();
  }
  out.write.reset();
  err.write.reset();
  keeper->StartShell(0, "echo to out; echo to err >&2", PassThrough);
  const Ended ended = keeper->WaitEnded(0);
  EXPECT_THAT(ended.end.last_lines, UnorderedElementsAre("to out", "to err"));
  keeper->Destroy();
  EXPECT_EQ(ReadToEnd(out.read), "to out\n");
  EXPECT_EQ(ReadToEnd(err.read), "to err\n");
}

TEST(KeeperOutput, LinesCarryTheirPrefix) {
  PipedKeeper piped;
  for (uint32_t slot = 0; slot < 2; ++slot) {
    piped.keeper->StartShell(slot, "printf 'one\\n\\ntwo'; printf '10%%\\r99%%\\n' >&2; printf end",
                             [&](ProcessSpec& spec) { spec.prefix = absl::StrCat("[", slot, "] "); });
  }
  piped.keeper->WaitEnded(0);
  piped.keeper->WaitEnded(1);
  const std::vector<std::string> lines = absl::StrSplit(piped.EndAndRead(), '\n');
  EXPECT_THAT(lines, UnorderedElementsAre("[0] one", "[0] ", "[0] 99%", "[0] end", "[1] one", "[1] ", "[1] 99%",
                                          "[1] end", ""));
}

// The bar moves every 10 ms, waits, and ends its line on the test's command.
TEST(KeeperOutput, AProgressBarIsShownWhileItMoves) {
  TempFolder folder;
  Fifo go(folder.Path("go"));
  PipeEnds out = MakeTestPipe();
  std::optional<TestKeeper> keeper;
  {
    StreamsTo streams(out.write.get(), out.write.get());
    keeper.emplace();
  }
  out.write.reset();
  for (uint32_t slot = 0; slot < 2; ++slot) {
    keeper->StartShell(slot,
                       absl::StrCat("for i in $(seq 100); do printf '\\r%s/100' $i; sleep 0.01; done; read x < ",
                                    go.path(), "; echo; echo end"),
                       [&](ProcessSpec& spec) {
                         spec.prefix = absl::StrCat("[", slot, "] ");
                         spec.log_path = folder.Path(absl::StrCat("log", slot));
                       });
  }
  std::string shown;
  const auto has_come = [&](const std::string& text) {
    pollfd ready{out.read.get(), POLLIN, 0};
    char bytes[4096];
    while (!absl::StrContains(shown, text) && ::poll(&ready, 1, kBoundMs) > 0) {
      const ssize_t n = ::read(out.read.get(), bytes, sizeof bytes);
      if (n <= 0) break;
      shown.append(bytes, static_cast<size_t>(n));
    }
    return absl::StrContains(shown, text);
  };
  EXPECT_TRUE(has_come("[0] 100/100\n")) << shown;
  EXPECT_TRUE(has_come("[1] 100/100\n")) << shown;
  go.WriteLine("go");
  go.WriteLine("go");
  keeper->WaitEnded(0);
  keeper->WaitEnded(1);
  keeper->Destroy();
  shown += ReadToEnd(out.read);
  const std::vector<std::string> lines = absl::StrSplit(shown, '\n');
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "[0] 100/100"), 1) << "its end shows nothing new\n" << shown;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "[0] end"), 1);
  EXPECT_LT(std::count_if(lines.begin(), lines.end(), [](const std::string& l) { return absl::StartsWith(l, "[0] "); }),
            50)
      << "twice a second at most\n"
      << shown;
  const std::string log = ReadWholeFile(folder.Path("log0"));
  EXPECT_TRUE(absl::StartsWith(log, "\r1/100\r2/100\r3/100")) << log;
  EXPECT_TRUE(absl::EndsWith(log, "\r100/100\nend\n")) << log;
}

TEST(KeeperOutput, LogsAreAppendedToAndNothingIsShown) {
  TempFolder folder;
  const std::string path = folder.Path("logs/worker_0.log");
  PipedKeeper piped;
  for (uint32_t slot = 0; slot < 2; ++slot) {
    piped.keeper->StartShell(slot, absl::StrCat("echo out ", slot, "; echo err ", slot, " >&2"),
                             [&](ProcessSpec& spec) { spec.log_path = path; });
    piped.keeper->WaitEnded(slot);
  }
  EXPECT_EQ(ReadWholeFile(path), "out 0\nerr 0\nout 1\nerr 1\n");
  EXPECT_EQ(piped.EndAndRead(), "");
}

TEST(KeeperOutput, ARunsLogsAreLinkedAndAnEndNamesItsLog) {
  TempFolder folder;
  const RunFolder run{folder.Path("logs"), "job", "1-20261125T015200.000Z", 10};
  PipedKeeper piped;
  (*piped.keeper)->BeginRun(run);
  piped.keeper->StartShell(0, "echo 0", [&](ProcessSpec& spec) { spec.log_path = run.path() + "/worker_0.log"; });
  EXPECT_EQ(piped.keeper->WaitEnded(0).end.log_file, run.path() + "/worker_0.log");
  (*piped.keeper)->WriteFile(run.path() + "/failure.json", "{}");
  EXPECT_EQ(piped.EndAndRead(), "");
  EXPECT_EQ(ReadWholeFile(folder.Path("logs/worker_0.log")), "0\n");
  EXPECT_EQ(ReadWholeFile(folder.Path("logs/job/latest/worker_0.log")), "0\n");
  EXPECT_EQ(ReadWholeFile(folder.Path("logs/failure.json")), "{}");
}

TEST(KeeperOutput, ALogAndALiveViewTogether) {
  TempFolder folder;
  PipedKeeper piped;
  piped.keeper->StartShell(0, "echo a; echo b", [&](ProcessSpec& spec) {
    spec.log_path = folder.Path("log");
    spec.prefix = "[0] ";
  });
  piped.keeper->WaitEnded(0);
  EXPECT_EQ(ReadWholeFile(folder.Path("log")), "a\nb\n");
  EXPECT_EQ(piped.EndAndRead(), "[0] a\n[0] b\n");
}

TEST(KeeperOutput, AFullDiskIsReportedOnStderrAndTheProcessGoesOn) {
  PipedKeeper piped;
  piped.keeper->StartShell(0, "for i in 1 2 3 4 5; do echo $i; sleep 0.01; done; exit 2",
                           [&](ProcessSpec& spec) { spec.log_path = "/dev/full"; });
  const Ended ended = piped.keeper->WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 2);
  EXPECT_EQ(ended.end.last_lines.size(), 5u);
  const std::string shown = piped.EndAndRead();
  EXPECT_THAT(shown, HasSubstr("can't write to the log file /dev/full: No space left on device"));
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 1);
}

TEST(KeeperOutput, ASlowReaderGetsEveryByte) {
  PipedKeeper piped;
  constexpr size_t kBytes = 20'000'000;
  piped.keeper->StartShell(0, absl::StrCat("head -c ", kBytes, " /dev/zero"), PassThrough);
  piped.keeper->WaitStarted(0);
  size_t got = 0;
  char buffer[8192];
  while (got < kBytes) {
    const ssize_t n = ::read(piped.pipe.read.get(), buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    got += static_cast<size_t>(n);
  }
  EXPECT_EQ(piped.keeper->WaitEnded(0).end.exit.code, 0);
  EXPECT_EQ(got + piped.EndAndRead().size(), kBytes);
}

TEST(KeeperOutput, ABlockedStdoutBlocksNothing) {
  TempFolder folder;
  Fifo fifo(folder.Path("fifo"));
  PipedKeeper piped;
  TestKeeper& keeper = *piped.keeper;
  // No one reads the pipe. One process floods it and has no log; one has a log.
  keeper.StartShell(0, "head -c 100000000 /dev/zero | tr '\\0' 'x' | fold -w 99", PassThrough);
  keeper.StartShell(1, "head -c 30000000 /dev/zero | tr '\\0' 'y' | fold -w 99", [&](ProcessSpec& spec) {
    spec.prefix = "[1] ";
    spec.log_path = folder.Path("log");
  });
  const MonotonicTime begin = BootTime();
  EXPECT_EQ(keeper.WaitEnded(1).end.exit.code, 0);
  EXPECT_EQ(ReadWholeFile(folder.Path("log")).size(), 30'000'000u + 303'030u) << "a log loses nothing";
  // In the meantime, other processes are started, stopped and reported.
  keeper.StartShell(2, absl::StrCat("echo ready > ", fifo.path(), "; exec sleep 1000"));
  EXPECT_EQ(fifo.ReadLine(), "ready");
  keeper->Stop({2, 1, 0});
  EXPECT_EQ(keeper.WaitEnded(2).end.exit.signal, SIGTERM);
  // The flood goes on once the keeper has given up the reader, and its last lines are right.
  const Ended flood = keeper.WaitEnded(0);
  EXPECT_EQ(flood.end.exit.code, 0);
  EXPECT_EQ(flood.end.last_lines.size(), 20u);
  EXPECT_LT(BootTime() - begin, absl::Milliseconds(kBoundMs));
  // While all that output waits, the keeper takes no processor time.
  clockid_t keeper_cpu{};
  ASSERT_EQ(::clock_getcpuclockid(static_cast<pid_t>(keeper->pid()), &keeper_cpu), 0);
  timespec before{};
  timespec after{};
  ::clock_gettime(keeper_cpu, &before);
  EXPECT_EQ(fifo.ReadLine(300), "(nothing came)");
  ::clock_gettime(keeper_cpu, &after);
  EXPECT_LT((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1'000'000, 50);
  // The reader comes back and learns how much it missed.
  keeper.StartShell(3, "echo afterwards", PassThrough);
  keeper.WaitEnded(3);
  std::string shown;
  pollfd ready{piped.pipe.read.get(), POLLIN, 0};
  char buffer[64 * 1024];
  while (!absl::StrContains(shown, "afterwards\n") && ::poll(&ready, 1, kBoundMs) == 1) {
    const ssize_t n = ::read(piped.pipe.read.get(), buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    shown.append(buffer, static_cast<size_t>(n));
  }
  EXPECT_THAT(shown, HasSubstr(" bytes of output were dropped here"));
  EXPECT_LT(shown.size(), 10'000'000u);
}

TEST(KeeperOutput, AReaderThatGoesHarmsNoProcess) {
  PipedKeeper piped;
  piped.pipe.read.reset();
  piped.keeper->StartShell(0, "for i in 1 2 3; do echo $i; done; exit 5", PassThrough);
  const Ended ended = piped.keeper->WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 5);
  EXPECT_EQ(ended.end.last_lines.size(), 3u);
}

}  // namespace
}  // namespace muster::agent
