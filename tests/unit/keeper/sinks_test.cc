// Live output and log files, each by itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/live_output.h"
#include "support.h"
#include "worker_agent/keeper/files/log_file.h"

namespace muster::agent {
namespace {

const int64_t kLineMs = absl::ToInt64Milliseconds(LiveOutput::kLinePatience);
const int64_t kStallMs = absl::ToInt64Milliseconds(LiveOutput::kStallPatience);
const int64_t kStuckMs = absl::ToInt64Milliseconds(SharedLine::kStuckPatience);

MonotonicTime At(int64_t ms) { return MonotonicTime() + absl::Milliseconds(ms); }

std::string ReadSome(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  std::string all;
  char buffer[64 * 1024];
  for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<size_t>(n));
  return all;
}

TEST(LiveOutput, PassesOnAtOnceAndLeavesTheSharedFlagsAlone) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  output.Write("hello\n", At(0));
  EXPECT_FALSE(output.has_pending());
  EXPECT_EQ(ReadSome(pipe.read), "hello\n");
  EXPECT_EQ(::fcntl(pipe.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LiveOutput, KeepsWhatASlowReaderHasNotTaken) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  std::string sent;
  for (int i = 0; !output.ShouldPause(At(0)); ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    sent += line;
    output.Write(line, At(0));
  }
  std::string got;
  while (output.has_pending()) {
    got += ReadSome(pipe.read);
    output.Flush(At(0));
  }
  got += ReadSome(pipe.read);
  EXPECT_TRUE(got == sent) << got.size() << " bytes of " << sent.size();
  EXPECT_FALSE(output.ShouldPause(At(0)));
}

TEST(LiveOutput, DropsTheOldestOnceTheReaderIsStuckAndSaysHowMuch) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  const std::string line(999, 'x');
  while (!output.ShouldPause(At(0))) output.Write(line + "\n", At(0));
  EXPECT_TRUE(output.ShouldPause(At(kStallMs - 1)));
  EXPECT_FALSE(output.ShouldPause(At(kStallMs)));

  size_t sent = 0;
  for (int i = 0; i < 20'000; ++i) output.Write(line + "\n", At(kStallMs)), sent += 1000;
  output.Write("the end\n", At(kStallMs));
  EXPECT_LE(output.pending_bytes(), LiveOutput::kMaxBytes);

  std::string got;
  while (output.has_pending()) {
    got += ReadSome(pipe.read);
    output.Flush(At(kStallMs));
  }
  got += ReadSome(pipe.read);
  EXPECT_TRUE(absl::EndsWith(got, "the end\n"));
  const size_t note = got.find("\n[ms-worker: ");
  ASSERT_NE(note, std::string::npos);
  EXPECT_EQ(got.find("[ms-worker: ", note + 5), std::string::npos) << "one line, not many";
  const size_t dropped = std::stoul(got.substr(note + 13));
  EXPECT_GT(dropped, sent / 2);
  // Before and after the note there are only whole lines, and every byte is either there or counted.
  const size_t note_end = got.find('\n', note + 1) + 1;
  EXPECT_EQ((note + 1) % 1000, 0u);
  EXPECT_EQ((got.size() - note_end - 8) % 1000, 0u);
}

// Python without a buffer writes the text and the line break separately.
TEST(LiveOutput, ALineOfOursWaitsForTheEndOfAnother) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  output.Write("listening", At(0));
  output.WriteLines("ours\n", At(1));
  output.WriteLines("and more\n", At(2));
  EXPECT_EQ(ReadSome(pipe.read), "listening");
  EXPECT_EQ(output.LineDeadline(), At(1 + kLineMs));
  EXPECT_TRUE(output.has_pending());
  EXPECT_FALSE(output.awaits_room()) << "the pipe takes bytes, and is not to be watched";
  output.Write("\nthe next", At(3));
  EXPECT_EQ(ReadSome(pipe.read), "\nours\nand more\nthe next");
  EXPECT_FALSE(output.has_pending());
  EXPECT_TRUE(output.LineDeadline().is_never());
}

TEST(LiveOutput, ALineThatDoesNotEndHoldsNothingBackForLong) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  output.Write("50 %", At(0));
  output.WriteLines("ours\n", At(10));
  output.Write("\r60 %", At(20));
  output.Flush(At(9 + kLineMs));
  EXPECT_EQ(ReadSome(pipe.read), "50 %\r60 %");
  output.Flush(At(10 + kLineMs));
  EXPECT_EQ(ReadSome(pipe.read), "\nours\n");
  output.WriteLines("at once\n", At(11 + kLineMs));
  EXPECT_EQ(ReadSome(pipe.read), "at once\n");
  output.Write("\r70 %", At(12 + kLineMs));
  output.WriteLines(std::string(LiveOutput::kMaxHeldBytes, 'x') + "\n", At(12 + kLineMs));
  EXPECT_TRUE(output.LineDeadline().is_never()) << "too much to be held back";
}

TEST(LiveOutput, OursStandOnALineOfTheirOwnAlsoWhenTheReaderIsSlow) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  std::string sent;
  while (!output.has_pending()) {
    output.Write(std::string(1000, 'x'), At(0));
    sent.append(1000, 'x');
  }
  output.WriteLines("ours\n", At(1));
  output.Write("x\n", At(2));
  std::string got;
  while (output.has_pending()) {
    got += ReadSome(pipe.read);
    output.Flush(At(3));
  }
  got += ReadSome(pipe.read);
  EXPECT_TRUE(got == sent + "x\nours\n") << got.size();
}

// The keeper passes on a process's output, and the agent logs, both on one stderr.
class SharedLineTest : public testing::Test {
 protected:
  PipeEnds pipe_ = MakeTestPipe();
  SharedLine line_;
  LiveOutput keeper_{pipe_.write.get(), &line_};
  LiveOutput agent_{pipe_.write.get(), &line_};
};

TEST_F(SharedLineTest, AnotherProcessWaitsForTheEndOfALine) {
  keeper_.Write("listening", At(0));
  agent_.WriteLines("ours\n", At(0));
  EXPECT_EQ(ReadSome(pipe_.read), "listening");
  EXPECT_EQ(agent_.LineDeadline(), At(1));
  EXPECT_FALSE(agent_.awaits_room());
  keeper_.Write("\n", At(1));
  agent_.Flush(At(1));
  EXPECT_EQ(ReadSome(pipe_.read), "\nours\n");
  EXPECT_FALSE(agent_.has_pending());
  keeper_.Write("whole\n", At(2));
  agent_.WriteLines("at once\n", At(2));
  EXPECT_EQ(ReadSome(pipe_.read), "whole\nat once\n");
}

TEST_F(SharedLineTest, AWaiterComesNextAlsoWhereLinesFollowWithoutAPause) {
  keeper_.Write("a", At(0));
  agent_.WriteLines("ours\n", At(0));
  keeper_.Write("z\nabc\nx", At(1));
  EXPECT_EQ(ReadSome(pipe_.read), "az\n");
  EXPECT_EQ(keeper_.LineDeadline(), At(2));
  agent_.Flush(At(1));
  EXPECT_EQ(ReadSome(pipe_.read), "ours\n");
  keeper_.Flush(At(2));
  EXPECT_EQ(ReadSome(pipe_.read), "abc\nx");
}

TEST_F(SharedLineTest, AWaiterThatDiesBlocksNoProcess) {
  keeper_.Write("a", At(0));
  EXPECT_EQ(line_.Take(4711, absl::ZeroDuration()), SharedLine::Taken::kNo);
  keeper_.Write("z\nabc\n", At(1));
  EXPECT_EQ(ReadSome(pipe_.read), "az\n");
  keeper_.Flush(At(1 + kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "abc\n");
  keeper_.Write("d\n", At(2 + kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "d\n");
}

TEST_F(SharedLineTest, OneThatDoesNotGoOnIsNotWaitedForForLong) {
  keeper_.Write("prompt> ", At(0));
  agent_.WriteLines("ours\n", At(5));
  agent_.Flush(At(4 + kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "prompt> ");
  agent_.Flush(At(5 + kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "\nours\n");
  agent_.WriteLines("at once\n", At(6 + kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "at once\n");
  keeper_.Write("answer\n", At(7 + kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "answer\n");
}

TEST_F(SharedLineTest, AWriterThatDiedInTheMiddleOfALineBlocksNoProcess) {
  ASSERT_EQ(line_.Take(4711, absl::ZeroDuration()), SharedLine::Taken::kYes);
  line_.Release(4711, /*ends_line=*/false);
  keeper_.Write("a line\n", At(0));
  EXPECT_TRUE(keeper_.has_pending());
  keeper_.Flush(At(kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "\na line\n");
  agent_.WriteLines("ours\n", At(kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "ours\n");
}

// A write takes long on a busy machine.
TEST_F(SharedLineTest, AnActiveWriterIsWaitedForForLonger) {
  ASSERT_EQ(line_.Take(4711, absl::ZeroDuration()), SharedLine::Taken::kYes);
  keeper_.Write("a line\n", At(0));
  keeper_.Flush(At(kStuckMs - 1));
  EXPECT_EQ(ReadSome(pipe_.read), "");
  keeper_.Flush(At(kStuckMs));
  EXPECT_EQ(ReadSome(pipe_.read), "\na line\n");
  line_.Release(4711, /*ends_line=*/false);  // the writer was only slow, and has lost the line
  agent_.WriteLines("ours\n", At(kStuckMs));
  EXPECT_EQ(ReadSome(pipe_.read), "ours\n");
}

// The keeper has lost its line to the agent, and goes on in a new one.
TEST_F(SharedLineTest, TheRestOfALineThatWasGivenUpIsALineAgain) {
  keeper_.Write("half", At(0));
  agent_.WriteLines("ours\n", At(0));
  agent_.Flush(At(kLineMs));
  keeper_.Write(" and half", At(kLineMs));
  agent_.WriteLines("ours again\n", At(kLineMs));
  EXPECT_EQ(ReadSome(pipe_.read), "half\nours\n and half");
  keeper_.Write("\n", At(kLineMs + 1));
  agent_.Flush(At(kLineMs + 1));
  EXPECT_EQ(ReadSome(pipe_.read), "\nours again\n");
}

TEST_F(SharedLineTest, AReaderThatIsGoneLeavesTheLine) {
  keeper_.Write("half", At(0));
  ::signal(SIGPIPE, SIG_IGN);
  pipe_.read.reset();
  keeper_.Write(" and half", At(0));
  EXPECT_EQ(line_.Take(4711, absl::ZeroDuration()), SharedLine::Taken::kYes);
}

TEST(SharedLine, IsOneForAllThatAreForked) {
  SharedLine* const line = SharedLine::OfStderr();
  ASSERT_NE(line, nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(SharedLine::OfStderr()->Take(1, absl::ZeroDuration()) == SharedLine::Taken::kYes ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(line->Take(2, absl::ZeroDuration()), SharedLine::Taken::kNo) << "the child has it";
  line->Release(1, true);
  EXPECT_EQ(line->Take(2, absl::ZeroDuration()), SharedLine::Taken::kYes);
  line->Release(2, true);
}

TEST(LiveOutput, AReaderThatGoesIsNoTrouble) {
  ::signal(SIGPIPE, SIG_IGN);
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  pipe.read.reset();
  output.Write("lost\n", At(0));
  EXPECT_FALSE(output.has_pending());
  EXPECT_FALSE(output.ShouldPause(At(0)));
}

TEST(LiveOutput, SocketsAndFiles) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  LiveOutput to_socket(ours.get());
  for (int i = 0; i < 1000; ++i) to_socket.Write(std::string(1000, 's'), At(0));  // would hang if it blocked
  EXPECT_TRUE(to_socket.has_pending());

  TempFolder folder;
  UniqueFd file(::open(folder.Path("f").c_str(), O_RDWR | O_CREAT, 0600));
  LiveOutput to_file(file.get());
  to_file.Write(std::string(3'000'000, 'f'), At(0));
  EXPECT_FALSE(to_file.has_pending());
  EXPECT_EQ(ReadWholeFile(folder.Path("f")).size(), 3'000'000u);
}

TEST(LogFile, AppendsAndMakesFolders) {
  TempFolder folder;
  const std::string path = folder.Path("a/b/worker_0.log");
  for (const char* text : {"one\n", "two\n"}) {
    auto log = LogFile::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->Append(text), "");
  }
  EXPECT_EQ(ReadWholeFile(path), "one\ntwo\n");
}

TEST(LogFile, TheNextProcessBeginsALineOfItsOwn) {
  TempFolder folder;
  const std::string path = folder.Path("worker_0.log");
  for (const char* text : {"step 1\nstep", "step 1\n", ""}) {
    auto log = LogFile::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->Append(text), "");
  }
  EXPECT_EQ(ReadWholeFile(path), "step 1\nstep\nstep 1\n");
}

TEST(LogFile, RefusalsNameThePath) {
  TempFolder folder;
  WriteWholeFile(folder.Path("file"), "");
  for (const std::string& path : {folder.Path("file/log"), folder.Path("."), Fifo(folder.Path("fifo")).path()}) {
    auto log = LogFile::Open(path);
    ASSERT_FALSE(log.ok()) << path;
    EXPECT_TRUE(absl::StrContains(log.status().message(), path)) << log.status();
    EXPECT_TRUE(absl::StrContains(log.status().message(), "--log_dir")) << log.status();
  }
}

// The folder belongs to another user, so anything may appear there between two rounds.
TEST(LogFile, WritesToNoFileThatAnotherUserHasPutInItsPlace) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root writes into another user's folder";
  constexpr uid_t kNobody = 65534;
  TempFolder folder;
  WriteWholeFile(folder.Path("secret"), "precious");
  const std::string logs = folder.Path("logs"), path = logs + "/worker_0.log";
  ASSERT_EQ(::mkdir(logs.c_str(), 0755), 0);
  ASSERT_EQ(::chown(logs.c_str(), kNobody, kNobody), 0);
  const auto refused_for = [&](const std::string& why) {
    const auto log = LogFile::Open(path);
    EXPECT_FALSE(log.ok()) << why;
    EXPECT_TRUE(absl::StrContains(log.status().message(), path)) << log.status();
    EXPECT_TRUE(absl::StrContains(log.status().message(), why)) << log.status();
    EXPECT_EQ(::unlink(path.c_str()), 0);
  };
  ASSERT_EQ(::symlink(folder.Path("secret").c_str(), path.c_str()), 0);
  refused_for("symbolic link");
  ASSERT_EQ(::symlink(folder.Path("made-elsewhere").c_str(), path.c_str()), 0);
  refused_for("symbolic link");
  ASSERT_EQ(::link(folder.Path("secret").c_str(), path.c_str()), 0);
  refused_for("hard link");
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  refused_for("regular file");

  // A link of that user in the path may lead only to a folder of that user.
  ASSERT_EQ(::mkdir(folder.Path("ours").c_str(), 0755), 0);
  const std::string link = logs + "/link";
  ASSERT_EQ(::symlink(folder.Path("ours").c_str(), link.c_str()), 0);
  ASSERT_EQ(::lchown(link.c_str(), kNobody, kNobody), 0);
  const auto led_astray = LogFile::Open(link + "/worker_0.log");
  EXPECT_TRUE(absl::StrContains(led_astray.status().message(), "symbolic link of another user")) << led_astray.status();
  ASSERT_EQ(::chown(folder.Path("ours").c_str(), kNobody, kNobody), 0);
  EXPECT_TRUE(LogFile::Open(link + "/worker_0.log").ok());

  EXPECT_TRUE(LogFile::Open(path).ok());
  EXPECT_TRUE(LogFile::Open(path).ok()) << "the next round goes on in it";
  EXPECT_EQ(ReadWholeFile(folder.Path("secret")), "precious");
  EXPECT_NE(::access(folder.Path("made-elsewhere").c_str(), F_OK), 0);
}

TEST(LogFile, AFullDiskIsReportedOnceAndSurvived) {
  auto log = LogFile::Open("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string complaint = log->Append("lost\n");
  EXPECT_TRUE(absl::StrContains(complaint, "/dev/full")) << complaint;
  EXPECT_TRUE(absl::StrContains(complaint, "No space left on device")) << complaint;
  EXPECT_EQ(log->Append("lost too\n"), "");
}

}  // namespace
}  // namespace muster::agent
