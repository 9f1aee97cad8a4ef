#include "worker_agent/gateway/script_store/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/gateway/sample_round.h"
#include "tests/unit/torch_store/socket_client.h"
#include "worker_agent/gateway/script_store/request.h"

namespace muster::script_store {
namespace {

using ::testing::HasSubstr;
using torch_store::SocketClient;  // sends any bytes over a connection

class ScriptStoreGatewayTest : public testing::Test {
 protected:
  ScriptStoreGatewayTest() {
    const absl::Status begun = gateway_->Begin(agent::SampleRound(2));
    EXPECT_TRUE(begun.ok()) << begun;
  }
  uint16_t port() const { return static_cast<uint16_t>(agent::GivenTo(*gateway_, 0).script_store_port); }
  static std::string LineOf(SocketClient& client) {
    std::string line;
    while (!absl::EndsWith(line, "\n")) {
      const std::string some = client.ReceiveSome();
      if (some.empty()) return line;
      line += some;
    }
    return line;
  }
  static std::string Ask(SocketClient& client, const std::string& line) {
    client.Send(line + "\n");
    return LineOf(client);
  }

  absl::StatusOr<JobStore::Listing> Listed() {
    absl::StatusOr<JobStore::Listing> listed = absl::UnknownError("");
    store_.List("app/k/", "", 0, [&listed](absl::StatusOr<JobStore::Listing> page) { listed = std::move(page); });
    for (auto& [key, value] : listed->entries) key.erase(0, sizeof("app/k/") - 1);
    return listed;
  }

  MemoryJobStore store_{Clock::System()};
  const std::unique_ptr<agent::Gateway> gateway_ = MakeGateway(store_, Clock::System());
};

TEST_F(ScriptStoreGatewayTest, OneConnectionAsksAgainAndAgain) {
  SocketClient client(port());
  EXPECT_EQ(Ask(client, R"({"op":"set","key":"a","value":"aGk="})"), Nothing());
  EXPECT_EQ(Ask(client, R"({"op":"get","key":"a"})"), ValueLine("hi"));
  EXPECT_THAT(Ask(client, "nonsense"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(Ask(client, R"({"op":"add","key":"n","delta":3})"), NumberLine(3)) << "after what was no request";
}

TEST_F(ScriptStoreGatewayTest, LinesThatComeTogetherAreAnsweredInOrder) {
  SocketClient client(port());
  std::string lines;
  std::string answers;
  for (int i = 1; i <= 1000; ++i) {
    absl::StrAppend(&lines, R"({"op":"add","key":"n","delta":1})", "\n");
    absl::StrAppend(&answers, NumberLine(i));
  }
  client.Send(lines);
  EXPECT_EQ(client.Receive(answers.size()), answers);
}

TEST_F(ScriptStoreGatewayTest, TheLargestValuesComeBackWhole) {
  SocketClient client(port());
  const std::string large(64 * 1024, 'x');
  EXPECT_EQ(Ask(client, absl::StrCat(R"({"op":"compare_and_set","key":"a","expected":")", absl::Base64Escape(large),
                                     R"(","value":")", absl::Base64Escape(large), "\"}")),
            ValueLine(std::nullopt));
  EXPECT_EQ(Ask(client, absl::StrCat(R"({"op":"set","key":"a","value":")", absl::Base64Escape(large), "\"}")),
            Nothing());
  EXPECT_EQ(Ask(client, R"({"op":"get","key":"a"})"), ValueLine(large));
}

TEST_F(ScriptStoreGatewayTest, AClientThatHasSentAllIsStillAnswered) {
  SocketClient client(port());
  client.Send("{\"op\":\"add\",\"key\":\"n\",\"delta\":1}\n{\"op\":\"get\",\"key\":\"n\"}\n");
  client.EndWriting();
  const std::string answers = NumberLine(1) + ValueLine("1");
  EXPECT_EQ(client.Receive(answers.size() + 1), answers) << "and then it is closed";
}

TEST_F(ScriptStoreGatewayTest, AClientThatNeverEndsItsLineIsCut) {
  SocketClient client(port());
  client.Send(std::string(2 * kMaxLineBytes, 'x'));
  EXPECT_EQ(client.ReceiveSome(), "");
}

TEST_F(ScriptStoreGatewayTest, AWaitingClientBlocksNoOther) {
  SocketClient waits(port());
  SocketClient asks(port());
  waits.Send("{\"op\":\"wait\",\"key\":\"a\",\"limit_ms\":5000}\n");
  EXPECT_EQ(Ask(asks, R"({"op":"set","key":"a","value":"aGk="})"), Nothing());
  EXPECT_EQ(LineOf(waits), ValueLine("hi"));
}

TEST_F(ScriptStoreGatewayTest, ABarrierMeetsOverTwoConnections) {
  SocketClient one(port());
  SocketClient two(port());
  one.Send("{\"op\":\"barrier\",\"name\":\"b\",\"rank\":0}\n");
  EXPECT_EQ(Ask(two, R"({"op":"barrier","name":"b","rank":1})"), Nothing());
  EXPECT_EQ(LineOf(one), Nothing());
}

TEST_F(ScriptStoreGatewayTest, ABarrierWithAMissingRankEndsInTime) {
  SocketClient one(port());
  EXPECT_THAT(Ask(one, R"({"op":"barrier","name":"b","rank":0,"limit_ms":100})"),
              HasSubstr("1 of 2 ranks have come; missing: 1 on one-0."));
}

TEST_F(ScriptStoreGatewayTest, TheEndOfTheRoundIsTheAnswerToAll) {
  SocketClient waits(port());
  waits.Send("{\"op\":\"barrier\",\"name\":\"b\",\"rank\":0}\n");
  SocketClient asks(port());
  Ask(asks, R"({"op":"get","key":"a"})");
  gateway_->WhyOver("rank 1 on host-2 was killed by SIGKILL");
  const std::string reply = ErrorLine(absl::FailedPreconditionError("rank 1 on host-2 was killed by SIGKILL"));
  EXPECT_EQ(LineOf(waits), reply);
  EXPECT_EQ(Ask(asks, R"({"op":"get","key":"a"})"), reply);
}

TEST_F(ScriptStoreGatewayTest, AClientThatAsksForMuchAndReadsNothingIsCut) {
  SocketClient asks(port());
  const std::string large = absl::Base64Escape(std::string(64 * 1024, 'x'));
  for (int i = 0; i < 15; ++i) {  // a list has at most one MiB
    Ask(asks, absl::StrCat(R"({"op":"set","key":")", i, R"(","value":")", large, "\"}"));
  }
  const size_t all = EntriesLine(*Listed()).size() * 6;
  std::vector<std::unique_ptr<SocketClient>> non_readers;
  for (int i = 0; i < 80; ++i) {
    non_readers.push_back(std::make_unique<SocketClient>(port()));
    for (int of_each = 0; of_each < 6; ++of_each) non_readers.back()->Send("{\"op\":\"list\",\"prefix\":\"\"}\n");
  }
  EXPECT_EQ(Ask(asks, R"({"op":"add","key":"n","delta":1})"), NumberLine(1));
  size_t cut = 0;
  for (auto& client : non_readers) cut += client->Receive(all).size() < all ? 1 : 0;
  EXPECT_GT(cut, 0u);
  EXPECT_LT(cut, non_readers.size());
}

TEST_F(ScriptStoreGatewayTest, SilentClientsMakeRoom) {
  std::vector<std::unique_ptr<SocketClient>> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(std::make_unique<SocketClient>(port()));
  std::string answer;
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (answer.empty() && absl::Now() < limit) {
    SocketClient client(port());
    answer = Ask(client, R"({"op":"get","key":"a"})");
  }
  EXPECT_EQ(answer, ValueLine(std::nullopt));
}

}  // namespace
}  // namespace muster::script_store
