#include "worker_agent/gateway/lighthouse/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/net/grpc_start.h"
#include "tests/unit/common/grpc_call.h"
#include "tests/unit/http2/endless_headers.h"
#include "worker_agent/gateway/lighthouse/messages.pb.h"

namespace muster::lighthouse {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);

class LighthouseServerTest : public ::testing::Test {
 protected:
  using Done = std::function<void(absl::StatusOr<v1::StoreReply>)>;

  // As in the agent. Otherwise gRPC shuts down with the last server, and may wait for 10 s for its own poller.
  static void SetUpTestSuite() { ASSERT_TRUE(StartGrpc(0).ok()); }

  LighthouseServerTest() {
    auto server = Server::Start(
        Settings{.name = "train"}, 2,
        [this](v1::ReplicasReport report, Done done) {
          const MutexLock lock(mutex_);
          reports_.emplace_back(std::move(report), std::move(done));
          changed_.NotifyAll();
        },
        Clock::System(), last_number_);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~LighthouseServerTest() override { server_.reset(); }

  static std::string QuorumOf(const std::string& id) {
    QuorumMember member;
    member.set_replica_id(id);
    QuorumRequest request;
    request.set_requester(member.SerializeAsString());
    return request.SerializeAsString();
  }
  std::unique_ptr<GrpcCall> Ask(uint32_t slot, const std::string& id) {
    return std::make_unique<GrpcCall>(server_->PortOf(slot), "/torchft.LighthouseService/Quorum", QuorumOf(id));
  }

  // The next report that `is_wanted`; the ones before it are answered with nothing.
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

  uint64_t last_number_ = 0;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::pair<v1::ReplicasReport, Done>> reports_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Server> server_;
};

TEST_F(LighthouseServerTest, ACallWaitsForItsQuorum) {
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

TEST_F(LighthouseServerTest, ACallThatIsCancelledIsTakenBack) {
  const auto call = Ask(0, "a");
  Await(HasCall).second(v1::StoreReply());
  call->Cancel();
  EXPECT_EQ(call->Await().error_code(), grpc::StatusCode::CANCELLED);
  const v1::ReplicasReport report = Await([](const v1::ReplicasReport& r) { return !HasCall(r); }).first;
  EXPECT_EQ(report.replicas_size(), 1) << "it lives";
}

TEST_F(LighthouseServerTest, TheReplicasOfAProcessGoWithIt) {
  const auto a = Ask(0, "a"), b = Ask(1, "b");
  Await([](const v1::ReplicasReport& r) { return r.replicas_size() == 2; }).second(v1::StoreReply());
  server_->Ended(1);
  const v1::ReplicasReport report = Await([](const v1::ReplicasReport& r) { return r.replicas_size() == 1; }).first;
  EXPECT_EQ(report.replicas(0).replica_id(), "a") << "each slot has a port of its own";
  EXPECT_FALSE(b->Await().ok());
}

TEST_F(LighthouseServerTest, ItsEndAnswersAllCalls) {
  const auto call = Ask(0, "a");
  Await(HasCall);
  server_->End("rank 3 on node2 was killed");
  EXPECT_THAT(call->Await().error_message(), HasSubstr("rank 3 on node2 was killed"));
  const auto late = Ask(0, "a");
  server_.reset();
  EXPECT_FALSE(late->Await().ok());
}

TEST_F(LighthouseServerTest, AHeaderBlockWithoutEndIsCutAndCostsOthersNothing) {
  testing::internal::CaptureStderr();
  std::thread attacker([port = server_->PortOf(0)] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(IsCutForItsHeaders(port));
  });
  for (int i = 0; i < 50; ++i) {
    GrpcCall beat(server_->PortOf(1), "/torchft.LighthouseService/Heartbeat", std::string("\x0a\x01r", 3));
    EXPECT_TRUE(beat.Await().ok());
  }
  attacker.join();
  server_.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a client of torchft's gateway, which speaks HTTP/2 as "
                                                                "no honest client does: a header block of"));
}

TEST_F(LighthouseServerTest, WhatItDoesNotKnowIsSaid) {
  GrpcCall call(server_->PortOf(0), "/torchft.LighthouseService/Other", "");
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  GrpcCall garbage(server_->PortOf(0), "/torchft.LighthouseService/Quorum", "\xff");
  EXPECT_EQ(garbage.Await().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  GrpcCall beat(server_->PortOf(0), "/torchft.LighthouseService/Heartbeat", std::string("\x0a\x01r", 3));
  EXPECT_TRUE(beat.Await().ok());
}

}  // namespace
}  // namespace muster::lighthouse
