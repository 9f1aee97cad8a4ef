#include "worker_agent/gateway/horovod/server.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/torch_store/socket_client.h"

namespace muster::horovod {
namespace {

using torch_store::SocketClient;  // any bytes over a connection

constexpr size_t kAll = size_t{4} << 20;

class HorovodServerTest : public testing::Test {
 protected:
  HorovodServerTest() {
    auto server = Server::Start(2, store_, Clock::System());
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    for (uint32_t slot = 0; slot < 2; ++slot) ports_[slot] = server_->Listen(slot).value_or(0);
  }
  std::string Say(uint32_t slot, const std::string& bytes) {
    SocketClient client(ports_[slot]);
    client.Send(bytes);
    return client.Receive(kAll);  // until it is closed there
  }
  static std::string Put(const std::string& path, const std::string& body) {
    return absl::StrCat("PUT ", path, " HTTP/1.1\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  }

  MemoryJobStore store_{Clock::System()};
  std::unique_ptr<Server> server_;
  uint16_t ports_[2] = {};
};

constexpr char kGet[] = "GET /global/0 HTTP/1.1\r\n\r\n";
constexpr char kFound[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

TEST_F(HorovodServerTest, KeepsWhatItIsGiven) {
  EXPECT_TRUE(absl::StartsWith(Say(0, Put("/global/0", "hello")), "HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Say(1, kGet), kFound);
  EXPECT_EQ(Say(0, kGet), kFound);
  EXPECT_TRUE(absl::StartsWith(Say(0, "DELETE /global/0 HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Say(1, kGet), kFound) << "which has not finished";
}

TEST_F(HorovodServerTest, WhoAsksEarlyGetsItWhenItIsThere) {
  SocketClient early(ports_[1]);
  early.Send(kGet);
  Say(0, Put("/global/0", "hello"));
  const std::string got = early.Receive(kAll);
  EXPECT_EQ(got, kFound);
}

TEST_F(HorovodServerTest, LargeValuesComeBackWhole) {
  const std::string large(kMaxBodyBytes, 'x');
  EXPECT_TRUE(absl::StartsWith(Say(0, Put("/global/0", large)), "HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(absl::EndsWith(Say(1, kGet), "\r\n\r\n" + large));
}

TEST_F(HorovodServerTest, WhatIsNoRequestIsToldSo) {
  EXPECT_TRUE(absl::StartsWith(Say(0, "nonsense\r\n\r\n"), "HTTP/1.1 400 "));
  EXPECT_TRUE(absl::StartsWith(Say(0, std::string(100'000, 'x')), "HTTP/1.1 431 "));
  EXPECT_TRUE(absl::StartsWith(Say(0, "PUT /a/b HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), "HTTP/1.1 413 "));
}

TEST_F(HorovodServerTest, ThoseWhoSayNothingMakeRoom) {
  std::vector<std::unique_ptr<SocketClient>> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(std::make_unique<SocketClient>(ports_[0]));
  std::string answer;
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (answer.empty() && absl::Now() < limit) answer = Say(1, Put("/global/0", "hello"));
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace muster::horovod
