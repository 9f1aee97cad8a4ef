// Live output and log files, each alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/live_output.h"
#include "support.h"
#include "worker_agent/keeper/log_file.h"

namespace muster::agent {
namespace {

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
  output.Write("hello\n", 0);
  EXPECT_FALSE(output.has_pending());
  EXPECT_EQ(ReadSome(pipe.read), "hello\n");
  EXPECT_EQ(::fcntl(pipe.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LiveOutput, KeepsWhatASlowReaderHasNotTaken) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  std::string sent;
  for (int i = 0; !output.ShouldPause(0); ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    sent += line;
    output.Write(line, 0);
  }
  std::string got;
  while (output.has_pending()) {
    got += ReadSome(pipe.read);
    output.Flush(0);
  }
  got += ReadSome(pipe.read);
  EXPECT_TRUE(got == sent) << got.size() << " bytes of " << sent.size();
  EXPECT_FALSE(output.ShouldPause(0));
}

TEST(LiveOutput, DropsTheOldestOnceTheReaderIsStuckAndSaysHowMuch) {
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  const std::string line(999, 'x');
  while (!output.ShouldPause(0)) output.Write(line + "\n", 0);
  EXPECT_TRUE(output.ShouldPause(LiveOutput::kStallMs - 1));
  EXPECT_FALSE(output.ShouldPause(LiveOutput::kStallMs));

  size_t sent = 0;
  for (int i = 0; i < 20'000; ++i) output.Write(line + "\n", LiveOutput::kStallMs), sent += 1000;
  output.Write("the end\n", LiveOutput::kStallMs);
  EXPECT_LE(output.pending_bytes(), LiveOutput::kMaxBytes);

  std::string got;
  while (output.has_pending()) {
    got += ReadSome(pipe.read);
    output.Flush(LiveOutput::kStallMs);
  }
  got += ReadSome(pipe.read);
  EXPECT_TRUE(absl::EndsWith(got, "the end\n"));
  const size_t note = got.find("\n[ms-worker: ");
  ASSERT_NE(note, std::string::npos);
  EXPECT_EQ(got.find("[ms-worker: ", note + 5), std::string::npos) << "one line, not many";
  const size_t dropped = std::stoul(got.substr(note + 13));
  EXPECT_GT(dropped, sent / 2);
  // Before the note and after it there are only whole lines, and every byte is either there or counted.
  const size_t note_end = got.find('\n', note + 1) + 1;
  EXPECT_EQ((note + 1) % 1000, 0u);
  EXPECT_EQ((got.size() - note_end - 8) % 1000, 0u);
}

TEST(LiveOutput, AReaderThatGoesIsNoTrouble) {
  ::signal(SIGPIPE, SIG_IGN);
  PipeEnds pipe = MakeTestPipe();
  LiveOutput output(pipe.write.get());
  pipe.read.reset();
  output.Write("lost\n", 0);
  EXPECT_FALSE(output.has_pending());
  EXPECT_FALSE(output.ShouldPause(0));
}

TEST(LiveOutput, SocketsAndFiles) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  LiveOutput to_socket(ours.get());
  for (int i = 0; i < 1000; ++i) to_socket.Write(std::string(1000, 's'), 0);  // would hang if it blocked
  EXPECT_TRUE(to_socket.has_pending());

  TempFolder folder;
  UniqueFd file(::open(folder.Path("f").c_str(), O_RDWR | O_CREAT, 0600));
  LiveOutput to_file(file.get());
  to_file.Write(std::string(3'000'000, 'f'), 0);
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

TEST(LogFile, AFullDiskIsToldOnceAndSurvived) {
  auto log = LogFile::Open("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string complaint = log->Append("lost\n");
  EXPECT_TRUE(absl::StrContains(complaint, "/dev/full")) << complaint;
  EXPECT_TRUE(absl::StrContains(complaint, "No space left on device")) << complaint;
  EXPECT_EQ(log->Append("lost too\n"), "");
}

}  // namespace
}  // namespace muster::agent
