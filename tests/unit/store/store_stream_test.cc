// Requests of the store over one stream, real gRPC at both ends.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/store/whole_scheduler.h"
#include "worker_agent/store/agent_store.h"

namespace muster::agent {
namespace {

class StoreStreamTest : public ::testing::Test {
 protected:
  StoreStreamTest() { scheduler_.Form({"n1"}); }

  // Sends one message and reads until so many answers have come, or the stream is over.
  std::vector<v1::StoreAnswer> Ask(const v1::StoreRequests& requests, size_t count, grpc::Status* status) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const auto stub = v1::Store::NewStub(scheduler_.Channel());
    const auto stream = stub->Stream(&context);
    stream->Write(requests);
    std::vector<v1::StoreAnswer> got;
    v1::StoreAnswers answers;
    while (got.size() < count && stream->Read(&answers)) {
      for (const v1::StoreAnswer& answer : answers.answers()) got.push_back(answer);
    }
    stream->WritesDone();
    while (stream->Read(&answers)) ADD_FAILURE() << "one too many";
    *status = stream->Finish();
    return got;
  }
  static v1::StoreRequest Get(uint64_t call, const std::string& key) {
    v1::StoreRequest request;
    request.set_call(call);
    *request.mutable_get()->mutable_caller() = CallerOf("n1", 1);
    request.mutable_get()->set_key(key);
    return request;
  }

  Scheduler scheduler_;
};

TEST_F(StoreStreamTest, EachRequestHasItsOwnAnswer) {
  v1::StoreRequests requests;
  *requests.add_requests() = Get(1, "x");
  *requests.add_requests() = Get(2, "");
  requests.add_requests()->set_call(3);
  *requests.add_requests() = Get(4, "y");
  requests.mutable_requests(3)->mutable_get()->mutable_caller()->set_incarnation(99);
  grpc::Status status;
  std::map<uint64_t, uint32_t> codes;
  for (const v1::StoreAnswer& answer : Ask(requests, 4, &status)) codes[answer.call()] = answer.code();
  EXPECT_EQ(codes[1], 0);
  EXPECT_EQ(codes[2], grpc::StatusCode::INVALID_ARGUMENT) << "an empty key";
  EXPECT_EQ(codes[3], grpc::StatusCode::UNIMPLEMENTED) << "what a newer agent may ask";
  EXPECT_EQ(codes[4], grpc::StatusCode::FAILED_PRECONDITION) << "another start of the node";
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(StoreStreamTest, AMessageHasLimits) {
  grpc::Status status;
  v1::StoreRequests many;
  for (int i = 0; i <= kMaxStoreRequests; ++i) *many.add_requests() = Get(1, "x");
  EXPECT_TRUE(Ask(many, 1, &status).empty());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::StoreRequests large;
  *large.add_requests() = Get(1, std::string(kMaxReceivedBytes, 'k'));
  EXPECT_TRUE(Ask(large, 1, &status).empty());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "not even parsed";
}

// Many large values at once would make a message that the agent refuses, each time again.
TEST_F(StoreStreamTest, AnswersGoInMessagesThatAgentsTake) {
  constexpr uint64_t kValues = 64;
  v1::StoreRequests requests;
  AgentStore store(Clock::System());
  store.BeginRound(CallerOf("n1", 1));
  store.SetChannel(scheduler_.Channel());
  Blocking blocking(store);
  for (uint64_t i = 0; i < kValues; ++i) {
    ASSERT_TRUE(blocking.Set(absl::StrCat("k", i), std::string(kMaxStoreValueBytes, 'v')).ok());
    *requests.add_requests() = Get(i, absl::StrCat("k", i));
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const auto stub = v1::Store::NewStub(scheduler_.Channel());
  const auto stream = stub->Stream(&context);
  stream->Write(requests);
  uint64_t got = 0;
  for (v1::StoreAnswers answers; got < kValues && stream->Read(&answers);) {
    EXPECT_LT(answers.ByteSizeLong(), (1 << 20) + 2 * kMaxStoreValueBytes);
    for (const v1::StoreAnswer& answer : answers.answers()) got += answer.code() == 0 ? 1 : 0;
  }
  EXPECT_EQ(got, kValues);
}

// A client that hangs up or disappears before its answers come does not disturb the scheduler.
TEST_F(StoreStreamTest, MayEndBeforeItsAnswers) {
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    const auto stub = v1::Store::NewStub(scheduler_.Channel());
    const auto stream = stub->Stream(&context);
    v1::StoreRequests requests;
    for (uint64_t call = 1; call <= 50; ++call) {
      v1::StoreRequest& request = *requests.add_requests();
      request.set_call(call);
      *request.mutable_wait()->mutable_caller() = CallerOf("n1", 1);
      request.mutable_wait()->set_key("never");
      request.mutable_wait()->set_limit_ms(200);
    }
    stream->Write(requests);
    if (i % 2 == 0) {
      stream->WritesDone();
    } else {
      context.TryCancel();
    }
    stream->Finish();
  }
  grpc::Status status;
  v1::StoreRequests requests;
  *requests.add_requests() = Get(1, "x");
  EXPECT_EQ(Ask(requests, 1, &status).size(), 1);
}

TEST_F(StoreStreamTest, AnAgentsChangesAllTakeEffectInTheirOrder) {
  AgentStore store(Clock::System());
  store.BeginRound(CallerOf("n1", 1));
  store.SetChannel(scheduler_.Channel());
  Blocking blocking(store);
  std::atomic<int> made = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string key = absl::StrCat("k", i % 100);
    store.Set(key, absl::StrCat(i), Lifetime::kRound, [&](const absl::Status& status) { made += status.ok() ? 1 : 0; });
  }
  EXPECT_EQ(*blocking.Swap("k7", std::nullopt, "new"), "407");
  EXPECT_EQ(*blocking.Swap("k8", "408", "swapped"), "swapped");
  EXPECT_EQ(made, 500);
  AgentStore other(Clock::System());
  other.BeginRound(CallerOf("n1", 1));
  other.SetChannel(scheduler_.Channel());
  Blocking reader(other);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(*reader.Get(absl::StrCat("k", i)), i == 8 ? "swapped" : absl::StrCat(400 + i));
  }
}

// Another scheduler's store, as far as a test needs it.
class ServedStore : public v1::Store::Service {
 public:
  ServedStore() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials());
  }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Ends each stream after one message, answered or not, so that later requests open the next one.
class CurtScheduler : public ServedStore {
 public:
  grpc::Status Stream(grpc::ServerContext* /*context*/,
                      grpc::ServerReaderWriter<v1::StoreAnswers, v1::StoreRequests>* stream) override {
    v1::StoreRequests requests;
    if (!stream->Read(&requests) || ++streams_ % 3 == 0) return grpc::Status::OK;
    v1::StoreAnswers answers;
    for (const v1::StoreRequest& request : requests.requests()) {
      v1::StoreAnswer& answer = *answers.add_answers();
      answer.set_call(request.call());
      answer.mutable_reply()->set_value("here");
    }
    stream->Write(answers);
    return grpc::Status::OK;
  }

 private:
  std::atomic<int> streams_ = 0;
};

TEST(CurtSchedulerTest, IsAskedOnAnotherStreamAndLeavesNoneBehind) {
  CurtScheduler scheduler;
  for (int round = 0; round < 4; ++round) {
    AgentStore store(Clock::System());
    store.BeginRound(CallerOf("n1", 1));
    store.SetChannel(scheduler.Channel());
    for (int i = 0; i < 200; ++i) {
      store.Wait(absl::StrCat("k", i), std::chrono::seconds(5), [](const Value&) {});
    }
    Blocking blocking(store);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*blocking.Wait(absl::StrCat("b", i), std::chrono::seconds(5)), "here");
    if (round % 2 == 0) store.SetChannel(nullptr);
  }
}

}  // namespace
}  // namespace muster::agent
