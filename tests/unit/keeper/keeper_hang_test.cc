// A file system or the keeper itself hangs: nothing else may wait for it.
//
// To the keeper, a stopped helper looks like one with a file system that hangs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "support.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/files/file_helper.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kNote[] = "\n[ms-worker: ";

class KeeperHang : public ::testing::Test {
 protected:
  // Starts a shell with a log.
  void StartLogged(uint32_t slot, const std::string& script) {
    piped_.keeper->StartShell(slot, script, [&](ProcessSpec& spec) {
      spec.log_path = log_;
      spec.error_file = folder_.Path("error");
    });
  }
  // Helpers name themselves when they first run; before that they can't be found.
  void SetUp() override {
    ASSERT_TRUE(piped_.keeper->WaitUntil([] { return HelpersNamed("ms-keeper-files").size() == 2; }));
  }
  void Hang() { SignalAll(HelpersNamed("ms-keeper-files"), SIGSTOP); }
  void Thaw() { SignalAll(HelpersNamed("ms-keeper-files"), SIGCONT); }

  TempFolder folder_;
  const std::string log_ = folder_.Path("logs/worker_0.log");
  Fifo fifo_{folder_.Path("fifo")};
  Fifo commands_{folder_.Path("commands")};
  PipedKeeper piped_;
};

TEST_F(KeeperHang, ADeathIsReportedWhileTheLogHangsAndItsLinesComeLater) {
  TestKeeper& keeper = *piped_.keeper;
  StartLogged(0, absl::StrCat("echo before; echo ready > ", fifo_.path(), "; read x < ", commands_.path(),
                              "; seq 1 5000; kill -9 $$"));
  EXPECT_EQ(fifo_.ReadLine(), "ready");
  ASSERT_EQ(HelpersNamed("ms-keeper-files").size(), 2u);
  Hang();
  const MonotonicTime begin = BootTime();
  commands_.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_LT(BootTime() - begin, absl::Milliseconds(3000));
  EXPECT_EQ(ended.end.exit.signal, SIGKILL);
  ASSERT_EQ(ended.end.last_lines.size(), 20u);
  EXPECT_EQ(ended.end.last_lines.back(), "5000") << "from memory";
  Thaw();
  EXPECT_EQ(piped_.EndAndRead(), "");
  std::string wanted = "before\n";
  for (int i = 1; i <= 5000; ++i) absl::StrAppend(&wanted, i, "\n");
  EXPECT_EQ(ReadWholeFile(log_), wanted);
}

TEST_F(KeeperHang, ASlowDiskLosesNothing) {
  TestKeeper& keeper = *piped_.keeper;
  Hang();
  StartLogged(0, absl::StrCat("echo ready > ", fifo_.path(), "; head -c 20000000 /dev/zero; echo end"));
  EXPECT_EQ(fifo_.ReadLine(1000), "(nothing came)") << "it waits for its log";
  Thaw();
  EXPECT_EQ(fifo_.ReadLine(), "ready");
  for (int i = 0; i < 3; ++i) {
    Hang();
    EXPECT_EQ(fifo_.ReadLine(700), "(nothing came)");
    Thaw();
  }
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.code, 0);
  EXPECT_EQ(piped_.EndAndRead(), "");
  EXPECT_EQ(ReadWholeFile(log_).size(), 20'000'004u);
}

TEST_F(KeeperHang, AProcessGoesOnWhenItsLogHangsAndWhatIsDroppedIsCounted) {
  TestKeeper& keeper = *piped_.keeper;
  constexpr uint64_t kFlood = 12'000'000;
  StartLogged(0, absl::StrCat("echo ready > ", fifo_.path(), "; read x < ", commands_.path(), "; head -c ", kFlood,
                              " /dev/zero | tr '\\0' x; echo flooded > ", fifo_.path(), "; read x < ", commands_.path(),
                              "; echo afterwards"));
  EXPECT_EQ(fifo_.ReadLine(), "ready");
  Hang();
  const MonotonicTime begin = BootTime();
  commands_.WriteLine("flood");
  EXPECT_EQ(fifo_.ReadLine(), "flooded") << "a training does not wait for ever";
  EXPECT_GE(BootTime() - begin, FileHelper::kStallPatience - absl::Milliseconds(100)) << "but it does for a while";
  Thaw();
  // The helper writes waiting output before any new one.
  commands_.WriteLine("go on");
  EXPECT_EQ(keeper.WaitEnded(0).end.exit.code, 0);
  const std::string said = piped_.EndAndRead();
  EXPECT_THAT(said, HasSubstr(absl::StrCat("the file system of ", log_, " has not answered for 5 s")));
  EXPECT_THAT(said, HasSubstr("answers again"));
  EXPECT_THAT(said, HasSubstr(absl::StrCat(" bytes of output are missing in ", log_)));

  const std::string log = ReadWholeFile(log_);
  const size_t note = log.find(kNote);
  ASSERT_NE(note, std::string::npos);
  EXPECT_EQ(log.find_first_not_of('x'), note) << "what fits is there, in order";
  EXPECT_GE(note, FileHelper::kMaxHungBytes / 2);
  const uint64_t dropped = std::stoull(log.substr(note + sizeof kNote - 1));
  const size_t note_end = log.find('\n', note + 1) + 1;
  const std::string after = log.substr(note_end);
  EXPECT_EQ(note + dropped + after.size(), kFlood + std::string("afterwards\n").size());
}

TEST_F(KeeperHang, TheFenceFallsWhileTheLogHangs) {
  TestKeeper& keeper = *piped_.keeper;
  StartLogged(0, absl::StrCat("echo $$ > ", fifo_.path(), "; while :; do echo line; sleep 0.01; done"));
  const UniqueFd process = fifo_.ReadPid();
  Hang();
  keeper->SetFence(BootTime() + absl::Milliseconds(200));
  EXPECT_TRUE(EndsWithin(process, 3000));
  EXPECT_TRUE(keeper.WaitFenceFell());
  EXPECT_TRUE(keeper.WaitEnded(0).end.was_stopped);
  Thaw();
}

TEST_F(KeeperHang, AProcessBeginsWithoutItsLogInTheEnd) {
  TestKeeper& keeper = *piped_.keeper;
  Hang();
  StartLogged(0, "echo one; echo two");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 0);
  EXPECT_EQ(ended.end.last_lines.size(), 2u);
  Thaw();
  EXPECT_THAT(piped_.EndAndRead(), HasSubstr("has not answered for 5 s"));
  EXPECT_EQ(ReadWholeFile(log_), "one\ntwo\n");
}

TEST_F(KeeperHang, WhatWaitsForItsLogCanBeStoppedAndFenced) {
  TestKeeper& keeper = *piped_.keeper;
  Hang();
  for (uint32_t slot = 0; slot < 3; ++slot) StartLogged(slot, "echo never");
  keeper->Stop({0, 1, 0});
  EXPECT_TRUE(keeper.WaitEnded(0).end.was_stopped);
  keeper->SetFence(BootTime());
  EXPECT_TRUE(keeper.WaitFenceFell());
  for (uint32_t slot = 1; slot < 3; ++slot) EXPECT_TRUE(keeper.WaitEnded(slot).end.was_stopped);
  Thaw();
  EXPECT_EQ(piped_.EndAndRead(), "");
  EXPECT_EQ(ReadWholeFile(log_), "");
}

TEST_F(KeeperHang, TheEndWaitsABoundedTimeAndSaysWhatIsMissing) {
  TestKeeper& keeper = *piped_.keeper;
  StartLogged(0, absl::StrCat("echo ready > ", fifo_.path(), "; read x < ", commands_.path(), "; echo twelve bytes"));
  EXPECT_EQ(fifo_.ReadLine(), "ready");
  Hang();
  commands_.WriteLine("go");
  keeper.WaitEnded(0);
  const MonotonicTime begin = BootTime();
  const std::string said = piped_.EndAndRead();
  EXPECT_LT(BootTime() - begin, absl::Milliseconds(10'000));
  EXPECT_THAT(said, HasSubstr(absl::StrCat("13 bytes of output were not written to ", log_)));
  EXPECT_TRUE(HelpersNamed("ms-keeper-files").empty());
}

TEST_F(KeeperHang, FilesBesideTheLogsAreWrittenInOrderAndBlockNothing) {
  TestKeeper& keeper = *piped_.keeper;
  const std::string path = folder_.Path("logs/failure.json");
  keeper->WriteFile(path, "old");
  Hang();
  keeper->WriteFile(path, "new");
  Thaw();
  EXPECT_EQ(piped_.EndAndRead(), "");
  EXPECT_EQ(ReadWholeFile(path), "new");
}

TEST_F(KeeperHang, AStandardOutputThatIsAFileMayHangToo) {
  const UniqueFd file(::open(folder_.Path("out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::optional<TestKeeper> keeper;
  {
    StreamsTo streams(file.get(), file.get());
    keeper.emplace();
  }
  std::vector<pid_t> relays;  // a helper names itself when it first runs
  keeper->WaitUntil([&] { return !(relays = HelpersNamed("ms-keeper-relay")).empty(); });
  ASSERT_EQ(relays.size(), 1u) << "one file, one relay";
  SignalAll(relays, SIGSTOP);
  keeper->StartShell(0, "seq 1 100000; exit 3", [](ProcessSpec& spec) { spec.passes_output = true; });
  EXPECT_EQ(keeper->WaitEnded(0).end.exit.code, 3);
  SignalAll(relays, SIGCONT);
  keeper->Destroy();
  std::string wanted;
  for (int i = 1; i <= 100'000; ++i) absl::StrAppend(&wanted, i, "\n");
  EXPECT_TRUE(ReadWholeFile(folder_.Path("out")) == wanted);
}

TEST_F(KeeperHang, AHelperThatDiesIsReportedAndTheProcessesGoOn) {
  TestKeeper& keeper = *piped_.keeper;
  StartLogged(0, absl::StrCat("echo ready > ", fifo_.path(), "; read x < ", commands_.path(), "; echo last; exit 4"));
  EXPECT_EQ(fifo_.ReadLine(), "ready");
  SignalAll(HelpersNamed("ms-keeper-files"), SIGKILL);
  commands_.WriteLine("go");
  const Ended ended = keeper.WaitEnded(0);
  EXPECT_EQ(ended.end.exit.code, 4);
  EXPECT_EQ(ended.end.last_lines, std::vector<std::string>{"last"});
  EXPECT_THAT(piped_.EndAndRead(), HasSubstr("the process that writes the logs has ended"));
}

TEST_F(KeeperHang, AKeeperThatIsStoppedIsReported) {
  TestKeeper& keeper = *piped_.keeper;
  StartLogged(0, "sleep 1000");
  keeper.WaitStarted(0);
  ::kill(static_cast<pid_t>(keeper->pid()), SIGSTOP);
  EXPECT_TRUE(keeper.WaitSilent());
  ::kill(static_cast<pid_t>(keeper->pid()), SIGCONT);
  EXPECT_TRUE(keeper.WaitAnswers());
}

TEST_F(KeeperHang, AKeeperThatIsStoppedAtTheFenceIsKilledAndTheProcessesWithIt) {
  TestKeeper& keeper = *piped_.keeper;
  StartLogged(0, absl::StrCat("echo $$ > ", fifo_.path(), "; exec sleep 1000"));
  const UniqueFd process = fifo_.ReadPid();
  keeper.WaitStarted(0);
  ::kill(static_cast<pid_t>(keeper->pid()), SIGSTOP);
  keeper->SetFence(BootTime() + absl::Milliseconds(1000));
  EXPECT_TRUE(keeper.WaitLost());
  EXPECT_TRUE(EndsWithin(process, 1000));
  EXPECT_TRUE(Keeper::KillAllDescendants(absl::Seconds(10)).ok());
}

}  // namespace
}  // namespace muster::agent
