#include "worker_agent/gateway/lighthouse/server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "worker_agent/gateway/grpc_door.h"
#include "worker_agent/gateway/lighthouse/messages.pb.h"

namespace muster::lighthouse {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// A call of a replica's manager.
class Call {
 public:
  Call(uint16_t port, const std::string& method, const std::string& request)
      : stub_(grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials())),
        call_(stub_.PrepareUnaryCall(&context_, method, BufferOf(request), &queue_)) {
    call_->StartCall();
    call_->Finish(&reply_, &status_, this);
  }
  ~Call() {
    context_.TryCancel();
    Await();
    queue_.Shutdown();
  }

  void Cancel() { context_.TryCancel(); }
  grpc::Status Await() {
    void* tag = nullptr;
    bool is_ok = false;
    if (!std::exchange(is_over_, true)) {
      EXPECT_TRUE(queue_.Next(&tag, &is_ok));
    }
    return status_;
  }
  std::string reply() const { return agent::BytesOf(reply_); }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  bool is_over_ = false;
};

class LighthouseServerTest : public ::testing::Test {
 protected:
  using Done = std::function<void(absl::StatusOr<v1::StoreReply>)>;

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
  std::unique_ptr<Call> Ask(uint32_t slot, const std::string& id) {
    return std::make_unique<Call>(server_->PortOf(slot), "/torchft.LighthouseService/Quorum", QuorumOf(id));
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

TEST_F(LighthouseServerTest, WhatItDoesNotKnowIsSaid) {
  Call call(server_->PortOf(0), "/torchft.LighthouseService/Other", "");
  EXPECT_EQ(call.Await().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  Call garbage(server_->PortOf(0), "/torchft.LighthouseService/Quorum", "\xff");
  EXPECT_EQ(garbage.Await().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  Call beat(server_->PortOf(0), "/torchft.LighthouseService/Heartbeat", std::string("\x0a\x01r", 3));
  EXPECT_TRUE(beat.Await().ok());
}

}  // namespace
}  // namespace muster::lighthouse
