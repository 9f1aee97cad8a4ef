#include "worker_agent/gateway/lighthouse/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/net/grpc_start.h"
#include "tests/unit/common/grpc_call.h"
#include "tests/unit/gateway/sample_round.h"
#include "tests/unit/http2/endless_headers.h"
#include "worker_agent/gateway/lighthouse/messages.pb.h"

namespace muster::lighthouse {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);

class LighthouseGatewayTest : public ::testing::Test {
 protected:
  using Done = std::function<void(absl::StatusOr<v1::StoreReply>)>;

  // Keeps gRPC running, as the agent does. Otherwise gRPC shuts down with the last server, and may wait 10 s for its
  // own poller.
  static void SetUpTestSuite() { ASSERT_TRUE(StartGrpc(0).ok()); }

  LighthouseGatewayTest() {
    const absl::Status begun = gateway_->Begin(agent::SampleRound(2));
    EXPECT_TRUE(begun.ok()) << begun;
  }
  ~LighthouseGatewayTest() override { gateway_.reset(); }

  uint16_t PortOf(uint32_t slot) const {
    const std::string url = agent::GivenTo(*gateway_, slot).gateway_variables.at("TORCHFT_LIGHTHOUSE");
    return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  static std::string QuorumOf(const std::string& id) {
    QuorumMember member;
    member.set_replica_id(id);
    QuorumRequest request;
    request.set_requester(member.SerializeAsString());
    return request.SerializeAsString();
  }
  std::unique_ptr<GrpcCall> Ask(uint32_t slot, const std::string& id) {
    return std::make_unique<GrpcCall>(PortOf(slot), "/torchft.LighthouseService/Quorum", QuorumOf(id));
  }

  // Returns the next report that `is_wanted` accepts; gives earlier reports an empty answer.
  template <typename IsWanted>
  std::pair<v1::ReplicasReport, Done> Await(const IsWanted& is_wanted) {
    const MonotonicTime end = Clock::System().Read().monotonic + kPatience;
    while (Clock::System().Read().monotonic < end) {
      std::optional<std::pair<v1::ReplicasReport, Done>> next;
      {
        const MutexLock lock(mutex_);
        if (reports_.empty()) changed_.WaitFor(mutex_, absl::Milliseconds(100));
        if (reports_.empty()) continue;
        next = std::move(reports_.front());
        reports_.pop_front();
      }
      if (is_wanted(next->first)) return *std::move(next);
      next->second(v1::StoreReply());
    }
    ADD_FAILURE() << "no such report came";
    return {v1::ReplicasReport(), [](const auto&) {}};
  }
  static bool HasCall(const v1::ReplicasReport& report) {
    return report.replicas_size() > 0 && report.replicas(0).call() != 0;
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::pair<v1::ReplicasReport, Done>> reports_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<agent::Gateway> gateway_ = MakeGateway(
      Settings{.name = "train"},
      [this](v1::ReplicasReport report, Done done) {
        const MutexLock lock(mutex_);
        reports_.emplace_back(std::move(report), std::move(done));
        changed_.NotifyAll();
      },
      Clock::System());
};

TEST_F(LighthouseGatewayTest, ACallWaitsForItsQuorum) {
  const auto call = Ask(0, "a");
  const auto [report, done] = Await(HasCall);
  v1::StoreReply reply;
  reply.add_quorums()->add_calls(report.replicas(0).call());
  reply.mutable_quorums(0)->set_quorum_id(7);
  done(reply);
  const grpc::Status status = call->Await();
  ASSERT_TRUE(status.ok()) << status.error_message();
  QuorumReply quorum;
  ASSERT_TRUE(quorum.ParseFromString(call->reply()));
  EXPECT_EQ(quorum.quorum().quorum_id(), 7);
}

TEST_F(LighthouseGatewayTest, ACallThatIsCancelledIsTakenBack) {
  const auto call = Ask(0, "a");
  Await(HasCall).second(v1::StoreReply());
  call->Cancel();
  EXPECT_EQ(call->Await().error_code(), grpc::StatusCode::CANCELLED);
  const v1::ReplicasReport report = Await([](const v1::ReplicasReport& r) { return !HasCall(r); }).first;
  EXPECT_EQ(report.replicas_size(), 1) << "it lives";
}

TEST_F(LighthouseGatewayTest, TheReplicasOfAProcessGoWithIt) {
  const auto a = Ask(0, "a"), b = Ask(1, "b");
  Await([](const v1::ReplicasReport& r) { return r.replicas_size() == 2; }).second(v1::StoreReply());
  agent::ProcessEnd end;
  gateway_->Judge({.slot = 1, .round = 1}, end);
  const v1::ReplicasReport report = Await([](const v1::ReplicasReport& r) { return r.replicas_size() == 1; }).first;
  EXPECT_EQ(report.replicas(0).replica_id(), "a") << "each slot has a port of its own";
  EXPECT_FALSE(b->Await().ok());
}

TEST_F(LighthouseGatewayTest, ItsEndAnswersAllCalls) {
  const auto call = Ask(0, "a");
  Await(HasCall);
  gateway_->WhyOver("rank 3 on node2 was killed");
  EXPECT_THAT(call->Await().error_message(), HasSubstr("rank 3 on node2 was killed"));
  const auto late = Ask(0, "a");
  gateway_.reset();
  EXPECT_FALSE(late->Await().ok());
}

TEST_F(LighthouseGatewayTest, AHeaderBlockWithoutEndIsCutAndCostsOthersNothing) {
  testing::internal::CaptureStderr();
  std::thread attacker([port = PortOf(0)] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(IsCutForItsHeaders(port));
  });
  for (int i = 0; i < 50; ++i) {
    GrpcCall beat(PortOf(1), "/torchft.LighthouseService/Heartbeat", std::string("\x0a\x01r", 3));
    EXPECT_TRUE(beat.Await().ok());
  }
  attacker.join();
  gateway_.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("a client of torchft's gateway, which breaks the rules of HTTP/2: a header block of"));
}

TEST_F(LighthouseGatewayTest, WhatItDoesNotKnowIsSaid) {
  GrpcCall call(PortOf(0), "/torchft.LighthouseService/Other", "");
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  GrpcCall garbage(PortOf(0), "/torchft.LighthouseService/Quorum", "\xff");
  EXPECT_EQ(garbage.Await().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  GrpcCall beat(PortOf(0), "/torchft.LighthouseService/Heartbeat", std::string("\x0a\x01r", 3));
  EXPECT_TRUE(beat.Await().ok());
}

}  // namespace
}  // namespace muster::lighthouse
