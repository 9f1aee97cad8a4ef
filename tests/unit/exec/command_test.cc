// Tests the process that runs a remote command, with a socket in place of the agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/gateway/exec/program/io.h"

namespace muster::exec {
namespace {

using testing::HasSubstr;

class CommandTest : public testing::Test {
 protected:
  void Run(const std::string& words) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    socket_.reset(pair[0]);
    const int small = 0;  // the kernel's minimum, far below a piece
    ::setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    child_ = ::fork();
    if (child_ == 0) {
      ::close(pair[0]);
      ::signal(SIGPIPE, SIG_IGN);
      ServeCommand(pair[1]);
      ::_exit(0);
    }
    ::close(pair[1]);
    Send(FrameBytes(FrameKind::kRun, words));
  }
  void Send(const std::string& bytes) { ASSERT_TRUE(WriteAll(socket_.get(), bytes)); }
  // Reads until the command has ended; returns its exit code.
  uint32_t Listen() {
    while (true) {
      while (std::optional<Frame> frame = reader_.Take()) {
        if (frame->kind == FrameKind::kExit) return frame->number();
        if (frame->kind == FrameKind::kOutput) out_ += frame->bytes;
        if (frame->kind == FrameKind::kError) err_ += frame->bytes;
        if (frame->kind == FrameKind::kCredit) credit_ += frame->number();
        if (out_.find(until_) != std::string::npos && !until_.empty()) return 0;
      }
      std::string in;
      if (ReadSome(socket_.get(), kPieceBytes, in) == ReadResult::kEnd) return 9999;
      reader_.Add(in);
    }
  }
  void ListenUntil(const std::string& text) {
    until_ = text;
    Listen();
    until_.clear();
  }
  // Lets time pass in which no one reads. No event shows when that is long enough, so the time is fixed.
  static void Pause() { ::poll(nullptr, 0, 1200); }
  ~CommandTest() override {
    socket_.reset();
    EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
  }

  UniqueFd socket_;
  pid_t child_ = 0;
  FrameReader reader_;
  std::string until_, out_, err_;
  uint32_t credit_ = 0;
};

TEST_F(CommandTest, AShellRunsTheWordsAndItsEndIsReported) {
  Run("echo \"a;b\" '$x'; echo c >&2; exit 7");
  EXPECT_EQ(Listen(), 7U);
  EXPECT_EQ(out_, "a;b $x\n");
  EXPECT_EQ(err_, "c\n");
}

TEST_F(CommandTest, ItsEndIsReportedAlsoWhereSigchldWasIgnored) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  Run("exit 7");
  ::signal(SIGCHLD, before);
  EXPECT_EQ(Listen(), 7U);
}

TEST_F(CommandTest, ASignalIsPassedAndReported) {
  Run("trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.01; done");
  ListenUntil("ready\n");
  Send(FrameBytes(FrameKind::kSignal, static_cast<uint32_t>(SIGUSR1)));
  EXPECT_EQ(Listen(), 3U);
  EXPECT_THAT(out_, HasSubstr("got"));
}

TEST_F(CommandTest, WhatASignalEndsHasAShellsCode) {
  Run("kill -9 $$");
  EXPECT_EQ(Listen(), 137U);
}

TEST_F(CommandTest, StdinIsTakenInPieces) {
  Run("cat");
  const std::string piece(kPieceBytes, 'x');
  for (int i = 0; i < 4; ++i) Send(FrameBytes(FrameKind::kInput, piece));
  Send(FrameBytes(FrameKind::kInput, ""));
  EXPECT_EQ(Listen(), 0U);
  EXPECT_EQ(out_.size(), 4 * kPieceBytes);
  EXPECT_EQ(credit_, 4 * kPieceBytes);
}

TEST_F(CommandTest, ASignalDoesNotWaitForUnreadStdin) {
  Run("echo ready; exec sleep 60");
  ListenUntil("ready\n");
  const std::string piece(kPieceBytes, 'x');
  for (size_t sent = 0; sent < kInputWindow; sent += kPieceBytes) Send(FrameBytes(FrameKind::kInput, piece));
  Send(FrameBytes(FrameKind::kSignal, static_cast<uint32_t>(SIGTERM)));
  EXPECT_EQ(Listen(), 143U);
}

TEST_F(CommandTest, OutputIsCompleteAfterAPauseOfItsReader) {
  Run("head -c 75000 /dev/zero");
  Pause();
  ListenUntil(std::string(1, '\0'));  // one piece; the command has ended, and a pipe has the rest
  // Longer than other processes may keep open the output of a command that has ended.
  Pause();
  EXPECT_EQ(Listen(), 0U);
  EXPECT_EQ(out_.size(), 75000U);
}

TEST_F(CommandTest, StopsAlthoughItsOutputIsNotRead) {
  Run("yes");
  Pause();  // until nothing more can be written
  ASSERT_EQ(::kill(child_, SIGTERM), 0);
  EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
  child_ = ::fork();  // for the destructor
  if (child_ == 0) ::_exit(0);
}

TEST_F(CommandTest, OutputWithoutReaderEndsTheCommand) {
  Run("yes");
  ListenUntil("y\n");
  Send(FrameBytes(FrameKind::kUnread, 1));
  EXPECT_EQ(Listen(), 128U + SIGPIPE);
}

TEST_F(CommandTest, NothingIsLeftWhenTheCallerHasGone) {
  Run("trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 60' & wait");
  ListenUntil("\n");
  const pid_t left = std::stoi(out_);
  socket_.reset();
  EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
  EXPECT_EQ(::kill(left, 0), -1);
  child_ = ::fork();  // for the destructor
  if (child_ == 0) ::_exit(0);
}

TEST_F(CommandTest, WhatStaysBehindHoldsUpNoEnd) {
  Run("sleep 60 & exit 4");
  EXPECT_EQ(Listen(), 4U);
}

}  // namespace
}  // namespace muster::exec
