// Tests an agent's server over its local socket and its port.
#include "worker_agent/gateway/exec/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "sample_peers.h"
#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/local_socket.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/gateway/exec/program/io.h"

namespace muster::exec {
namespace {

using testing::HasSubstr;

class ExecServerTest : public testing::Test {
 protected:
  ExecServerTest() {
    char folder[] = "/tmp/exec-server-XXXXXX";
    folder_ = ::mkdtemp(folder);
    server_ = *ExecServer::Start(nullptr, Clock::System());
    port_ = *server_->Listen(0);
    EXPECT_TRUE(server_->ListenForOwn(path()).ok());
  }
  ~ExecServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/exec"; }

  // All nodes are on this machine.
  void Begin(const std::string& node) {
    v1::PeerList peers = SamplePeers();
    for (v1::PeerNode& peer : *peers.mutable_nodes()) {
      peer.set_address(IpAddress::Parse("127.0.0.1")->bytes());
      peer.clear_other_addresses();
    }
    server_->BeginRound(*RoundOf(peers, node, "token"));
  }
  UniqueFd Connect() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    return fd;
  }
  static Answer Ask(const UniqueFd& fd, const Request& request) {
    EXPECT_TRUE(WriteAll(fd.get(), *RequestBytes(request)));
    std::string in;
    while (true) {
      std::string_view rest = in;
      const auto answer = TakeAnswer(rest);
      if (answer.ok() && answer->has_value()) return **answer;
      if (ReadSome(fd.get(), 1, in) == ReadResult::kEnd) return {AnswerCode::kRefused, "closed"};
    }
  }
  Answer AskLocally(const std::string& token, const std::string& host, const std::string& words = "true") const {
    const UniqueFd fd = *ConnectLocally(path());
    Request request;
    request.secret = token;
    request.to = host;
    request.words = words;
    return Ask(fd, request);
  }

  std::string folder_;
  std::unique_ptr<ExecServer> server_;
  uint16_t port_ = 0;
};

TEST_F(ExecServerTest, OnlyProcessesOfTheRoundAreServed) {
  EXPECT_THAT(AskLocally("token", "a").text, HasSubstr("no round runs here"));
  Begin("b");
  EXPECT_THAT(AskLocally("stolen", "a").text, HasSubstr("MUSTER_EXEC_TOKEN is not this round's"));
  EXPECT_THAT(AskLocally("", "a").text, HasSubstr("MUSTER_EXEC_TOKEN is not this round's"));
  EXPECT_THAT(AskLocally("token", "nowhere\n").text, HasSubstr("\"nowhere\\n\" is no host of this round"));
  EXPECT_EQ(AskLocally("token", "nowhere").code, AnswerCode::kUnknown);
  EXPECT_EQ(AskLocally("token", "c").code, AnswerCode::kHere);
  EXPECT_EQ(AskLocally("token", "localhost").code, AnswerCode::kHere);
  EXPECT_THAT(AskLocally("token", "c", "").text, HasSubstr("no command was given"));
  server_->EndRound();
  EXPECT_EQ(AskLocally("token", "c").code, AnswerCode::kRefused);
}

TEST_F(ExecServerTest, WhatIsRunAndWhatIsRefusedIsTold) {
  Mutex mutex;
  std::vector<std::string> reported;
  server_->ReportTo([&](const v1::RemoteCommands& commands) {
    const MutexLock lock(mutex);
    reported.push_back(absl::StrCat(v1::RemoteCommands::Refusal_Name(commands.refusal()), " ", commands.round(), " ",
                                    commands.words()));
  });
  Begin("b");
  AskLocally("stolen", "a");
  Request request{7, 2, "key of b", "job", "a", "b", "A=secret orted"};
  Request other = request;
  other.job = "other";
  Ask(Connect(), other);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  server_->SetHolder(UniqueFd(pair[0]));
  const UniqueFd holder(pair[1]);
  EXPECT_EQ(Ask(Connect(), request).code, AnswerCode::kGo);
  const MutexLock lock(mutex);
  EXPECT_THAT(reported, testing::ElementsAre("WRONG_KEY 2 ", "OTHER_JOB 2 ", "NOT_REFUSED 2 A=… orted"));
}

TEST_F(ExecServerTest, CommandsOfOtherAgentsGoToTheHolder) {
  Begin("b");
  const Request request{7, 2, "key of b", "job", "a", "b", "echo hello"};
  Request own = request;
  own.round = 1;
  EXPECT_THAT(Ask(Connect(), own).text, HasSubstr("of another round"));
  own = request;
  own.secret = "key of a";
  EXPECT_THAT(Ask(Connect(), own).text, HasSubstr("does not know this node's key"));
  own = request;
  own.from = "c";
  EXPECT_EQ(Ask(Connect(), own).code, AnswerCode::kLater) << "there is no holder yet";
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  server_->SetHolder(UniqueFd(pair[0]));
  const pid_t holder = ::fork();
  if (holder == 0) ::_exit(RunHolder(pair[1]));
  ::close(pair[1]);
  UniqueFd link = Connect();
  ASSERT_EQ(Ask(link, own).code, AnswerCode::kGo);
  FrameReader reader;
  std::string out;
  uint32_t code = 9999;
  for (std::string in; code == 9999 && ReadSome(link.get(), kPieceBytes, in) == ReadResult::kSome; in.clear()) {
    reader.Add(in);
    while (std::optional<Frame> frame = reader.Take()) {
      if (frame->kind == FrameKind::kOutput) out += frame->bytes;
      if (frame->kind == FrameKind::kExit) code = frame->number();
    }
  }
  EXPECT_EQ(out, "hello\n");
  EXPECT_EQ(code, 0U);
  link.reset();
  server_->HolderEnder()();
  int status = 0;
  EXPECT_EQ(::waitpid(holder, &status, 0), holder);
  EXPECT_EQ(status, 0) << "it ends well on request";
}

TEST_F(ExecServerTest, OtherClientsDoNotFillThePlacesOfOwnProcesses) {
  server_ = *ExecServer::Start(nullptr, Clock::System(), /*max_connections=*/2);
  port_ = *server_->Listen(0);
  ASSERT_TRUE(server_->ListenForOwn(path()).ok());
  Begin("b");
  const UniqueFd silent[] = {Connect(), Connect(), Connect()};
  char letter = 0;
  EXPECT_EQ(::read(silent[2].get(), &letter, 1), 0) << "one too many is closed, so the others have been let in";
  EXPECT_EQ(AskLocally("token", "c").code, AnswerCode::kHere);
}

TEST_F(ExecServerTest, AnotherProtocolIsClosed) {
  Begin("b");
  for (const bool is_local : {false, true}) {
    const UniqueFd fd = is_local ? *ConnectLocally(path()) : Connect();
    ASSERT_TRUE(WriteAll(fd.get(), "GET / HTTP/1.1\r\n\r\n"));
    std::string in;
    EXPECT_EQ(ReadSome(fd.get(), 100, in), ReadResult::kEnd);
  }
}

}  // namespace
}  // namespace muster::exec
