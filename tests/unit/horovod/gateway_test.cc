#include "worker_agent/gateway/horovod/gateway.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/gateway/sample_round.h"
#include "tests/unit/torch_store/socket_client.h"
#include "worker_agent/gateway/horovod/request.h"

namespace muster::horovod {
namespace {

using torch_store::SocketClient;  // sends any bytes over a connection

constexpr size_t kAll = size_t{4} << 20;

class HorovodGatewayTest : public testing::Test {
 protected:
  HorovodGatewayTest() {
    const absl::Status begun = gateway_->Begin(agent::SampleRound(2));
    EXPECT_TRUE(begun.ok()) << begun;
    for (uint32_t slot = 0; slot < 2; ++slot) {
      ports_[slot] = static_cast<uint16_t>(agent::GivenTo(*gateway_, slot).horovod_port);
    }
  }
  std::string Say(uint32_t slot, const std::string& bytes) {
    SocketClient client(ports_[slot]);
    client.Send(bytes);
    return client.Receive(kAll);  // until the other end closes it
  }
  static std::string Put(const std::string& path, const std::string& body) {
    return absl::StrCat("PUT ", path, " HTTP/1.1\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  }

  MemoryJobStore store_{Clock::System()};
  const std::unique_ptr<agent::Gateway> gateway_ = MakeGateway(store_, Clock::System());
  uint16_t ports_[2] = {};
};

constexpr char kGet[] = "GET /global/0 HTTP/1.1\r\n\r\n";
constexpr char kFound[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

TEST_F(HorovodGatewayTest, KeepsWhatItIsGiven) {
  EXPECT_TRUE(absl::StartsWith(Say(0, Put("/global/0", "hello")), "HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Say(1, kGet), kFound);
  EXPECT_EQ(Say(0, kGet), kFound);
  EXPECT_TRUE(absl::StartsWith(Say(0, "DELETE /global/0 HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Say(1, kGet), kFound) << "which has not finished";
}

TEST_F(HorovodGatewayTest, AnEarlyRequestIsAnsweredWhenTheValueIsThere) {
  SocketClient early(ports_[1]);
  early.Send(kGet);
  Say(0, Put("/global/0", "hello"));
  const std::string got = early.Receive(kAll);
  EXPECT_EQ(got, kFound);
}

TEST_F(HorovodGatewayTest, LargeValuesComeBackWhole) {
  const std::string large(kMaxBodyBytes, 'x');
  EXPECT_TRUE(absl::StartsWith(Say(0, Put("/global/0", large)), "HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(absl::EndsWith(Say(1, kGet), "\r\n\r\n" + large));
}

TEST_F(HorovodGatewayTest, WhatIsNoRequestIsToldSo) {
  EXPECT_TRUE(absl::StartsWith(Say(0, "nonsense\r\n\r\n"), "HTTP/1.1 400 "));
  EXPECT_TRUE(absl::StartsWith(Say(0, std::string(100'000, 'x')), "HTTP/1.1 431 "));
  EXPECT_TRUE(absl::StartsWith(Say(0, "PUT /a/b HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), "HTTP/1.1 413 "));
}

TEST_F(HorovodGatewayTest, NoneStartsAgainAlone) {
  Say(0, Put("/global/0", "hello"));
  EXPECT_TRUE(absl::IsFailedPrecondition(gateway_->Begin(agent::SampleRound(2)))) << "none starts again alone";
  EXPECT_EQ(Say(1, kGet), kFound) << "the round goes on";
  gateway_->Over(1, 1);
  EXPECT_TRUE(gateway_->Begin(agent::SampleRound(2)).ok()) << "after its end";
  EXPECT_TRUE(gateway_->Begin(agent::SampleRound(2, /*number=*/2)).ok());
}

TEST_F(HorovodGatewayTest, SilentClientsMakeRoom) {
  std::vector<std::unique_ptr<SocketClient>> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(std::make_unique<SocketClient>(ports_[0]));
  std::string answer;
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (answer.empty() && absl::Now() < limit) answer = Say(1, Put("/global/0", "hello"));
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace muster::horovod
