#include "common/net/http2/relay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "common/net/http2/connection_name.h"
#include "tests/unit/common/times.h"
#include "tests/unit/http2/http2_frames.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Reads until `count` bytes or the end have come. Pauses in between, so that unread bytes pile up.
std::string ReadSome(int fd, size_t count) {
  std::string bytes;
  std::array<char, 4096> piece{};
  while (bytes.size() < count) {
    pollfd readable{fd, POLLIN, 0};
    if (poll(&readable, 1, 20'000) <= 0) break;
    const ssize_t got = recv(fd, piece.data(), std::min(piece.size(), count - bytes.size()), 0);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) break;
    bytes.append(piece.data(), static_cast<size_t>(got));
  }
  return bytes;
}

bool IsAtEnd(int fd) {
  char byte = 0;
  pollfd readable{fd, POLLIN, 0};
  if (poll(&readable, 1, 20'000) <= 0) return false;
  return recv(fd, &byte, 1, 0) <= 0;
}

// Writes the bytes in random pieces.
void WriteAll(int fd, std::string bytes, uint32_t seed) {
  std::mt19937 random(seed);
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t piece = std::min<size_t>(bytes.size() - at, 1 + random() % (random() % 4 == 0 ? 100'000 : 50));
    pollfd writable{fd, POLLOUT, 0};
    if (poll(&writable, 1, 20'000) <= 0) return;
    const ssize_t sent = send(fd, bytes.data() + at, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent <= 0) return;
    at += static_cast<size_t>(sent);
  }
}

// The beginning of a call, then DATA frames of random sizes with random bytes.
std::string Conversation(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text = kPreface + Headers(1);
  while (text.size() < bytes) {
    std::string payload(1 + random() % 40'000, '\0');
    for (char& byte : payload) byte = static_cast<char>(random());
    text += Frame(0, 0, 1, payload);
  }
  return text;
}

class RelayTest : public testing::Test {
 protected:
  RelayTest() { EXPECT_TRUE(relay_.Start().ok()); }

  // Returns the client's end, and gRPC's.
  std::pair<UniqueFd, UniqueFd> Connect(uint64_t id) {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()), 0);
    relay_.Add(base_ + id, UniqueFd(pair[1]), nullptr);
    std::lock_guard<std::mutex> lock(mutex_);
    return {UniqueFd(pair[0]), std::move(opened_[id])};
  }

  bool AwaitClosed(uint64_t id) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return closed_.contains(id); });
  }
  std::multiset<std::string> Breaches() {
    std::lock_guard<std::mutex> lock(mutex_);
    return breaches_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<std::string> breaches_;
  std::set<std::string> pauses_;
  std::multiset<uint64_t> closed_;
  // The whole machine shares the sockets' names, and tests run side by side. So the ids begin at a random number.
  const uint64_t base_ = uint64_t{std::random_device()()} << 24 | 1u << 20;
  std::map<uint64_t, UniqueFd> opened_;
  Relay relay_{{.threads = 2},
               {[this](uint64_t id, UniqueFd grpc, const CheckedClient* client) {
                  EXPECT_EQ(client, nullptr) << "it is plain";
                  std::lock_guard<std::mutex> lock(mutex_);
                  opened_[id - base_] = std::move(grpc);
                },
                [this](uint64_t, const FrameGuard::Breach& pause) {
                  std::lock_guard<std::mutex> lock(mutex_);
                  pauses_.insert(pause.kind);
                },
                [this](uint64_t id, const RelayEnd& end) {
                  std::lock_guard<std::mutex> lock(mutex_);
                  if (end.kind == RelayEnd::Kind::kBreach) breaches_.insert(end.what);
                  closed_.insert(id - base_);
                  changed_.notify_all();
                }},
               Clock::System()};
};

TEST_F(RelayTest, NoByteIsLostDoubledOrReordered) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    auto [client, grpc] = Connect(seed);
    const std::string asked = Conversation(3'000'000, seed), answered = Conversation(2'000'000, 100 + seed);
    // All four threads run at the same time, so that both directions meet back pressure.
    std::thread asks([&, fd = client.get()] { WriteAll(fd, asked, seed); });
    std::thread answers([&, fd = grpc.get()] { WriteAll(fd, answered, 50 + seed); });
    std::string heard;
    std::thread hears([&, fd = client.get()] { heard = ReadSome(fd, answered.size()); });
    const std::string read = ReadSome(grpc.get(), asked.size());
    asks.join();
    answers.join();
    hears.join();
    EXPECT_TRUE(read == asked) << seed << ": " << read.size() << " of " << asked.size();
    EXPECT_TRUE(heard == answered) << seed << ": " << heard.size() << " of " << answered.size();
  }
  EXPECT_THAT(Breaches(), IsEmpty());
}

TEST_F(RelayTest, AClientThatEndsItsSideIsStillAnswered) {
  auto [client, grpc] = Connect(1);
  const std::string asked = Conversation(200'000, 1);
  std::thread asks([&, fd = client.get()] {
    WriteAll(fd, asked, 1);
    shutdown(fd, SHUT_WR);
  });
  EXPECT_TRUE(ReadSome(grpc.get(), asked.size()) == asked);
  asks.join();
  EXPECT_TRUE(IsAtEnd(grpc.get()));
  ASSERT_EQ(send(grpc.get(), "late", 4, 0), 4);
  EXPECT_EQ(ReadSome(client.get(), 4), "late");
  grpc.reset();
  EXPECT_TRUE(IsAtEnd(client.get()));
  EXPECT_TRUE(AwaitClosed(1));
}

TEST_F(RelayTest, WhatGrpcSaidBeforeItClosedGoesOut) {
  auto [client, grpc] = Connect(1);
  const std::string said = Conversation(100'000, 3);
  std::string heard;
  std::thread hears([&, fd = client.get()] { heard = ReadSome(fd, said.size() + 1); });
  WriteAll(grpc.get(), said, 3);
  grpc.reset();
  hears.join();
  EXPECT_TRUE(heard == said) << heard.size();
  EXPECT_TRUE(AwaitClosed(1));
  EXPECT_EQ(relay_.size(), 0u);
}

TEST_F(RelayTest, AConnectionBeyondALimitIsCutAndCounted) {
  auto [client, grpc] = Connect(7);
  WriteAll(client.get(), kPreface + Frame(5, 0, 1, std::string(4, 'p')), 1);
  while (!IsAtEnd(client.get())) continue;
  while (!IsAtEnd(grpc.get())) continue;
  grpc.reset();
  EXPECT_TRUE(AwaitClosed(7));
  EXPECT_THAT(Breaches(), ElementsAre("HTTP/2 malformed"));
}

// Otherwise clients that are cut and come again would leave gRPC with more and more unfinished connections.
TEST_F(RelayTest, ACutConnectionKeepsItsPlaceUntilGrpcHasClosedIt) {
  auto [client, grpc] = Connect(10);
  WriteAll(client.get(), kPreface + Headers(1) + Frame(5, 0, 1, std::string(4, 'p')), 1);
  while (!IsAtEnd(client.get())) continue;
  EXPECT_EQ(relay_.size(), 1u);
  EXPECT_EQ(send(grpc.get(), "late", 4, MSG_NOSIGNAL), 4) << "what gRPC still says is taken, and goes nowhere";
  EXPECT_EQ(relay_.size(), 1u);
  grpc.reset();
  EXPECT_TRUE(AwaitClosed(10));
  EXPECT_EQ(relay_.size(), 0u);
}

// 600 PINGs at once are 100 more than allowed: the guard takes a fifth of a second for them, and loses none.
TEST_F(RelayTest, AConnectionThatSendsTooFastIsReadMoreSlowly) {
  auto [client, grpc] = Connect(8);
  std::string said = kPreface;
  for (int i = 0; i < 600; ++i) said += Frame(6, 0, 0, std::string(8, static_cast<char>('a' + i % 26)));
  const MonotonicTime begin = Clock::System().Read().monotonic;
  WriteAll(client.get(), said, 1);
  EXPECT_TRUE(ReadSome(grpc.get(), said.size()) == said);
  EXPECT_GE(Clock::System().Read().monotonic - begin, absl::Milliseconds(150));
  EXPECT_THAT(Breaches(), IsEmpty());
  std::lock_guard<std::mutex> lock(mutex_);
  EXPECT_THAT(pauses_, ElementsAre("HTTP/2 PING"));
}

// Otherwise such a client could make gRPC hold more and more answers.
TEST_F(RelayTest, AConnectionThatDoesNotReadIsNotReadFrom) {
  auto [client, grpc] = Connect(9);
  std::thread answers([fd = grpc.get()] { WriteAll(fd, std::string(4'000'000, 'a'), 1); });
  std::string heard;
  pollfd room{grpc.get(), POLLOUT, 0};
  while (poll(&room, 1, 100) > 0) continue;  // until the buffers are full
  const std::string said = kPreface + Frame(4, 0, 0, "");
  WriteAll(client.get(), said, 1);
  pollfd readable{grpc.get(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 200), 0) << "it takes nothing";
  std::thread hears([&, fd = client.get()] { heard = ReadSome(fd, 4'000'000); });
  EXPECT_EQ(ReadSome(grpc.get(), said.size()), said) << "now it does";
  answers.join();
  hears.join();
  EXPECT_EQ(heard.size(), 4'000'000u);
}

TEST_F(RelayTest, CutEndsOneConnectionOnly) {
  auto [one, grpc_one] = Connect(1);
  auto [other, grpc_other] = Connect(2);
  relay_.Cut(base_ + 1);
  relay_.Cut(base_ + 3);  // there is no such connection
  EXPECT_TRUE(IsAtEnd(grpc_one.get()));
  grpc_one.reset();
  EXPECT_TRUE(AwaitClosed(1));
  WriteAll(other.get(), kPreface, 1);
  EXPECT_EQ(ReadSome(grpc_other.get(), 24), kPreface);
}

TEST_F(RelayTest, TheKernelNamesTheConnection) {
  auto [client, grpc] = Connect(4711);
  sockaddr_un name{};
  socklen_t length = sizeof(name);
  ASSERT_EQ(getpeername(grpc.get(), reinterpret_cast<sockaddr*>(&name), &length), 0);
  ASSERT_EQ(name.sun_path[0], '\0');
  const std::string text(name.sun_path + 1, length - offsetof(sockaddr_un, sun_path) - 1);
  EXPECT_EQ(ConnectionOf("unix-abstract:" + text), base_ + 4711);
}

TEST_F(RelayTest, ManyComeAndGo) {
  for (uint64_t id = 1; id <= 300; ++id) {
    auto [client, grpc] = Connect(id);
    WriteAll(client.get(), kPreface, 1);
    EXPECT_EQ(ReadSome(grpc.get(), 24), kPreface);
    if (id % 2 == 0) {
      client.reset();
      EXPECT_TRUE(IsAtEnd(grpc.get()));
    }
    grpc.reset();
    EXPECT_TRUE(AwaitClosed(id));
  }
  EXPECT_EQ(relay_.size(), 0u);
}

TEST_F(RelayTest, StopClosesAll) {
  auto [client, grpc] = Connect(1);
  relay_.Stop();
  EXPECT_TRUE(IsAtEnd(client.get()));
  EXPECT_TRUE(IsAtEnd(grpc.get()));
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd end(pair[0]);
  relay_.Add(base_ + 2, UniqueFd(pair[1]), nullptr);
  EXPECT_TRUE(IsAtEnd(end.get()));
}

}  // namespace
}  // namespace muster
