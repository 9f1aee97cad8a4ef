// The service as a JAX process reaches it: gRPC on loopback, for one agent with two tasks.
#include "worker_agent/gateway/jax/server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/grpc_calls.h"
#include "common/store/memory_job_store.h"
#include "worker_agent/gateway/grpc_door.h"
#include "worker_agent/gateway/jax/messages.pb.h"

namespace muster::jax {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kService = 77;
constexpr char kOld[] = "/tensorflow.CoordinationService/";
constexpr char kNew[] = "/xla.coordination.CoordinationService/";

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// A call of a JAX process.
class Asking {
 public:
  Asking(uint16_t port, const std::string& method, const std::string& request,
         absl::Duration patience = absl::Seconds(20))
      : stub_(grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials())) {
    context_.set_deadline(GrpcDeadline(patience));
    call_ = stub_.PrepareUnaryCall(&context_, method, BufferOf(request), &queue_);
    call_->StartCall();
    call_->Finish(&reply_, &status_, this);
  }
  ~Asking() {
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
  Payloads payloads() const {
    Payloads payloads;
    const auto& trailers = context_.GetServerTrailingMetadata();
    const auto found = trailers.find("grpc-status-details-bin");
    if (found != trailers.end()) {
      EXPECT_TRUE(payloads.ParseFromArray(found->second.data(), static_cast<int>(found->second.size())));
    }
    return payloads;
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  bool is_over_ = false;
};

class JaxServerTest : public ::testing::Test {
 protected:
  JaxServerTest() {
    TaskLayout layout;
    layout.agents = {{0, 1}};
    layout.hosts = {"one"};
    auto server = Server::Start(store_, Clock::System(), layout, kService);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~JaxServerTest() override { server_.reset(); }

  std::unique_ptr<Asking> Ask(const std::string& method, const std::string& request) {
    return std::make_unique<Asking>(server_->port(), method, request);
  }
  std::unique_ptr<Asking> Register(int32_t task) { return Ask(absl::StrCat(kOld, "RegisterTask"), Registering(task)); }
  std::unique_ptr<Asking> Poll(int32_t task) {
    OldTaskOfOne request;
    request.mutable_source_task()->set_task_id(task);
    return Ask(absl::StrCat(kOld, "PollForError"), request.SerializeAsString());
  }
  std::unique_ptr<Asking> Get(const std::string& key) {
    OldKey request;
    request.set_key(key);
    return Ask(absl::StrCat(kOld, "GetKeyValue"), request.SerializeAsString());
  }
  std::unique_ptr<Asking> Insert(const std::string& key, const std::string& value) {
    OldInsert request;
    request.mutable_kv()->set_key(key);
    request.mutable_kv()->set_value(value);
    return Ask(absl::StrCat(kOld, "InsertKeyValue"), request.SerializeAsString());
  }
  static std::string Registering(int32_t task) {
    OldRegister request;
    request.set_incarnation(static_cast<uint64_t>(task) + 1000);
    request.mutable_source_task()->set_task_id(task);
    return request.SerializeAsString();
  }

  MemoryJobStore store_{Clock::System()};
  std::unique_ptr<Server> server_;
};

TEST_F(JaxServerTest, AllRegisterAndAreToldTheService) {
  const auto zero = Register(0), one = Register(1);
  for (const auto& call : {zero.get(), one.get()}) {
    const grpc::Status status = call->Await();
    ASSERT_TRUE(status.ok()) << status.error_message();
    ServiceIncarnation told;
    ASSERT_TRUE(told.ParseFromString(call->reply()));
    EXPECT_EQ(told.incarnation(), kService);
  }
}

TEST_F(JaxServerTest, WhoWaitsForOthersHearsOfThemBeforeItGivesUp) {
  Asking call(server_->port(), absl::StrCat(kOld, "RegisterTask"), Registering(0), absl::Seconds(3));
  const grpc::Status status = call.Await();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("1")) << "who is missing, and not gRPC's own words";
  EXPECT_FALSE(call.payloads().payloads().empty()) << "the service's decision, not a trouble of the network";
}

TEST_F(JaxServerTest, AValueOfAMegabyteIsReadByWhoWaitedForIt) {
  const std::string value(size_t{1} << 20, '\x01');
  const auto waits = Get("a");
  const auto insert = Insert("/a/", value);
  ASSERT_TRUE(insert->Await().ok()) << insert->Await().error_message();
  ASSERT_TRUE(waits->Await().ok()) << waits->Await().error_message();
  OneKeyValue told;
  ASSERT_TRUE(told.ParseFromString(waits->reply()));
  EXPECT_EQ(told.kv().value(), value);
}

TEST_F(JaxServerTest, ADecisionBearsItsPayload) {
  ASSERT_TRUE(Insert("a", "1")->Await().ok());
  const auto again = Insert("a", "2");
  EXPECT_EQ(again->Await().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(again->payloads().payloads().count("type.googleapis.com/tensorflow.CoordinationServiceError"), 1u);
}

TEST_F(JaxServerTest, ACallThatIsCancelledEnds) {
  const auto call = Get("never");
  call->Cancel();
  EXPECT_EQ(call->Await().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Insert("a", "1")->Await().ok()) << "it goes on";
}

TEST_F(JaxServerTest, ItsEndTellsTheCause) {
  const auto zero = Register(0), one = Register(1);
  ASSERT_TRUE(zero->Await().ok());
  const auto poll = Poll(0), waits = Get("never");
  server_->End("rank 3 on node2 was killed");
  for (const auto& call : {poll.get(), waits.get()}) {
    EXPECT_EQ(call->Await().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(call->Await().error_message(), HasSubstr("rank 3 on node2 was killed"));
  }
  const auto late = Get("a");
  EXPECT_THAT(late->Await().error_message(), HasSubstr("rank 3 on node2 was killed"));
}

TEST_F(JaxServerTest, WhoWaitsWhenItGoesIsAnswered) {
  const auto poll = Poll(0);
  ASSERT_TRUE(Insert("a", "1")->Await().ok());
  server_.reset();
  EXPECT_FALSE(poll->Await().ok());
}

TEST_F(JaxServerTest, WhatItDoesNotKnowIsSaid) {
  EXPECT_EQ(Ask(absl::StrCat(kNew, "Other"), "")->Await().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Ask(absl::StrCat(kNew, "Heartbeat"), "\xff")->Await().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace muster::jax
