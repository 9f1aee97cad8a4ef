// The service as a JAX process uses it: gRPC on loopback, for one agent with two tasks.
#include "worker_agent/gateway/jax/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/net/grpc_start.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/grpc_call.h"
#include "tests/unit/common/silent_job_store.h"
#include "tests/unit/gateway/sample_round.h"
#include "tests/unit/http2/endless_headers.h"
#include "worker_agent/gateway/jax/messages.pb.h"

namespace muster::jax {
namespace {

using ::testing::HasSubstr;

constexpr char kOld[] = "/tensorflow.CoordinationService/";
constexpr char kNew[] = "/xla.coordination.CoordinationService/";

Payloads PayloadsOf(const GrpcCall& call) {
  Payloads payloads;
  EXPECT_TRUE(payloads.ParseFromString(call.trailer("grpc-status-details-bin")));
  return payloads;
}

class JaxGatewayTest : public ::testing::Test {
 protected:
  // Keeps gRPC running, as the agent does. Otherwise gRPC shuts down with the last server, and may wait 10 s for its
  // own poller.
  static void SetUpTestSuite() { ASSERT_TRUE(StartGrpc(0).ok()); }

  JaxGatewayTest() {
    const absl::Status begun = gateway_->Begin(agent::SampleRound(2));
    EXPECT_TRUE(begun.ok()) << begun;
  }
  ~JaxGatewayTest() override { gateway_.reset(); }
  uint16_t port() const { return static_cast<uint16_t>(agent::GivenTo(*gateway_, 0).jax_port); }

  std::unique_ptr<GrpcCall> Ask(const std::string& method, const std::string& request) {
    return std::make_unique<GrpcCall>(port(), method, request);
  }
  std::unique_ptr<GrpcCall> Register(int32_t task) {
    return Ask(absl::StrCat(kOld, "RegisterTask"), Registering(task));
  }
  std::unique_ptr<GrpcCall> Poll(int32_t task) {
    OldTaskOfOne request;
    request.mutable_source_task()->set_task_id(task);
    return Ask(absl::StrCat(kOld, "PollForError"), request.SerializeAsString());
  }
  std::unique_ptr<GrpcCall> Get(const std::string& key) {
    OldKey request;
    request.set_key(key);
    return Ask(absl::StrCat(kOld, "GetKeyValue"), request.SerializeAsString());
  }
  std::unique_ptr<GrpcCall> Insert(const std::string& key, const std::string& value) {
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
  std::unique_ptr<agent::Gateway> gateway_ = MakeGateway(store_, Clock::System());
};

TEST_F(JaxGatewayTest, AllRegisterAndGetTheService) {
  const auto zero = Register(0), one = Register(1);
  std::set<uint64_t> services;
  for (const auto& call : {zero.get(), one.get()}) {
    const grpc::Status status = call->Await();
    ASSERT_TRUE(status.ok()) << status.error_message();
    ServiceIncarnation reply;
    ASSERT_TRUE(reply.ParseFromString(call->reply()));
    services.insert(reply.incarnation());
  }
  EXPECT_EQ(services.size(), 1u);
  EXPECT_EQ(services.count(0), 0u) << "0 means none";
}

TEST_F(JaxGatewayTest, AWaitingTaskLearnsTheMissingOnesBeforeItGivesUp) {
  GrpcCall call(port(), absl::StrCat(kOld, "RegisterTask"), Registering(0), absl::Seconds(3));
  const grpc::Status status = call.Await();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("1")) << "the missing rank, and not gRPC's own text";
  EXPECT_FALSE(PayloadsOf(call).payloads().empty()) << "the service's decision, not a trouble of the network";
}

TEST_F(JaxGatewayTest, AValueOfAMegabyteIsReadByItsWaiter) {
  const std::string value(size_t{1} << 20, '\x01');
  const auto waits = Get("a");
  const auto insert = Insert("/a/", value);
  ASSERT_TRUE(insert->Await().ok()) << insert->Await().error_message();
  ASSERT_TRUE(waits->Await().ok()) << waits->Await().error_message();
  OneKeyValue reply;
  ASSERT_TRUE(reply.ParseFromString(waits->reply()));
  EXPECT_EQ(reply.kv().value(), value);
}

TEST_F(JaxGatewayTest, ADecisionBearsItsPayload) {
  ASSERT_TRUE(Insert("a", "1")->Await().ok());
  const auto again = Insert("a", "2");
  EXPECT_EQ(again->Await().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(PayloadsOf(*again).payloads().count("type.googleapis.com/tensorflow.CoordinationServiceError"), 1u);
}

TEST_F(JaxGatewayTest, ACallThatIsCancelledEnds) {
  const auto call = Get("never");
  call->Cancel();
  EXPECT_EQ(call->Await().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Insert("a", "1")->Await().ok()) << "it goes on";
}

TEST_F(JaxGatewayTest, ItsEndNamesTheCause) {
  const auto zero = Register(0), one = Register(1);
  ASSERT_TRUE(zero->Await().ok());
  const auto poll = Poll(0), waits = Get("never");
  gateway_->WhyOver("rank 3 on node2 was killed");
  for (const auto& call : {poll.get(), waits.get()}) {
    EXPECT_EQ(call->Await().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(call->Await().error_message(), HasSubstr("rank 3 on node2 was killed"));
  }
  const auto late = Get("a");
  EXPECT_THAT(late->Await().error_message(), HasSubstr("rank 3 on node2 was killed"));
}

TEST_F(JaxGatewayTest, WaitingCallsAreAnsweredAtItsEnd) {
  const auto poll = Poll(0);
  ASSERT_TRUE(Insert("a", "1")->Await().ok());
  gateway_.reset();
  EXPECT_FALSE(poll->Await().ok());
}

// A store that blocks the steps of its owner until the test lets them go on.
class StandsStill final : public SilentJobStore {
 public:
  void Together(const std::function<void()>& steps) override {
    may_go_on.WaitForNotification();
    steps();
  }

  absl::Notification may_go_on;
};

TEST_F(JaxGatewayTest, WhatWaitsForItsThreadIsBounded) {
  StandsStill store;
  gateway_ = MakeGateway(store, Clock::System());
  ASSERT_TRUE(gateway_->Begin(agent::SampleRound(1)).ok());
  std::vector<std::unique_ptr<GrpcCall>> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(Insert(absl::StrCat(i), std::string(size_t{15} << 20, 'v')));
  const auto is_refused = [&] {
    return absl::c_count_if(calls, [](const auto& call) {
      return call->IsOver() && call->Await().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    });
  };
  while (is_refused() == 0) std::this_thread::yield();
  EXPECT_EQ(is_refused(), 1) << "four fit";
  store.may_go_on.Notify();
  gateway_.reset();  // before its store is destroyed
}

TEST_F(JaxGatewayTest, AHeaderBlockWithoutEndIsCutAndCostsOthersNothing) {
  testing::internal::CaptureStderr();
  std::thread attacker([port = port()] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(IsCutForItsHeaders(port));
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Insert(absl::StrCat(i), "1")->Await().ok());
  attacker.join();
  gateway_.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("a client of JAX's gateway, which breaks the rules of HTTP/2: a header block of"));
}

TEST_F(JaxGatewayTest, ItsConnectionsAreLimited) {
  std::vector<UniqueFd> open;
  for (int i = 0; i < 100; ++i) open.push_back(scheduler::ConnectTcp(port()));
  EXPECT_TRUE(scheduler::AwaitHangUp(open.back())) << "80 are taken for two tasks";
  open.clear();
  // Repeats until the gateway has seen that the others are gone.
  while (!Insert("a", "1")->Await().ok()) std::this_thread::yield();
}

TEST_F(JaxGatewayTest, WhatItDoesNotKnowIsSaid) {
  EXPECT_EQ(Ask(absl::StrCat(kNew, "Other"), "")->Await().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Ask(absl::StrCat(kNew, "Heartbeat"), "\xff")->Await().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace muster::jax
