// The agent's store with a complete scheduler: real gRPC, loop, core.
#include "worker_agent/store/agent_store.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "muster/v1/store.grpc.pb.h"
#include "tests/unit/store/ask_once.h"
#include "tests/unit/store/whole_scheduler.h"

namespace muster::agent {
namespace {

class AgentStoreTest : public ::testing::Test {
 protected:
  AgentStoreTest() {
    scheduler_.Form({"n1", "n2"});
    one_.BeginRound(CallerOf("n1", 1));
    one_.SetChannel(scheduler_.Channel());
    two_.BeginRound(CallerOf("n2", 2));
    two_.SetChannel(scheduler_.Channel());
  }

  Scheduler scheduler_;
  AgentStore one_{Clock::System()};
  AgentStore two_{Clock::System()};
};

size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// Most jobs keep nothing in the store, and an agent must start even on a machine without threads to spare.
TEST(AgentStore, HasNoThreadBeforeTheFirstCall) {
  const AgentStore another(Clock::System());  // gRPC's own threads begin with the first one
  const size_t before = Threads();
  AgentStore store(Clock::System());
  store.BeginRound(CallerOf("n1", 1));
  EXPECT_EQ(Threads(), before);
  store.Set("x", "1", Lifetime::kRound, [](const absl::Status&) {});
  EXPECT_GT(Threads(), before);
}

TEST_F(AgentStoreTest, EveryCallDoesWhatItSays) {
  Blocking one(one_), two(two_);
  EXPECT_EQ(*one.Get("x"), std::nullopt);
  EXPECT_TRUE(one.Set("x", std::string("\0\xff", 2)).ok());
  EXPECT_EQ(*two.Get("x"), std::string("\0\xff", 2));
  EXPECT_EQ(*one.Add("count", 40), 40);
  EXPECT_EQ(*two.Add("count", 2), 42);
  EXPECT_EQ(*two.Get("count"), "42");
  EXPECT_EQ(two.Add("x", 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(*one.Swap("leader", std::nullopt, "n1"), "n1");
  EXPECT_EQ(*two.Swap("leader", std::nullopt, "n2"), "n1");
  EXPECT_TRUE(one.Delete("x").ok());
  EXPECT_EQ(*one.Get("x"), std::nullopt);
}

TEST_F(AgentStoreTest, AWaitEndsWhenAnotherNodeSetsTheKey) {
  Blocking one(one_), two(two_);
  std::promise<Value> result;
  one_.Wait("late", std::chrono::seconds(5), [&](Value value) { result.set_value(std::move(value)); });
  EXPECT_EQ(one.Wait("never", std::chrono::milliseconds(50)).status().code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(two.Set("late", "here").ok());
  auto future = result.get_future();
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(*future.get(), "here");
}

TEST_F(AgentStoreTest, ARoundThatIsOverEndsTheCalls) {
  Blocking one(one_);
  EXPECT_TRUE(one.Set("x", "1").ok());
  one_.BeginRound(CallerOf("n1", 1, 2));  // the scheduler does not know it
  EXPECT_EQ(one.Get("x").status().code(), Code::kFailedPrecondition);
  one_.BeginRound(CallerOf("n1", 99));  // another start of the node
  EXPECT_EQ(one.Set("x", "2").code(), Code::kFailedPrecondition);
}

TEST_F(AgentStoreTest, AwayItAnswersFromTheCopyAndKeepsChanges) {
  Blocking one(one_), two(two_);
  EXPECT_TRUE(two.Set("x", "1").ok());
  EXPECT_EQ(*one.Get("x"), "1");
  one_.SetChannel(nullptr);
  EXPECT_EQ(*one.Get("x"), "1");
  EXPECT_EQ(one.Get("y").status().code(), Code::kUnavailable);
  std::promise<absl::Status> result;
  one_.Set("z", "2", Lifetime::kRound, [&](absl::Status status) { result.set_value(status); });
  EXPECT_EQ(*one.Get("z"), "2");
  EXPECT_EQ(*two.Get("z"), std::nullopt);
  one_.SetChannel(scheduler_.Channel());
  auto future = result.get_future();
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(*two.Wait("z", std::chrono::seconds(5)), "2");
}

TEST_F(AgentStoreTest, ThereIsRoomAgainWhenTheSchedulerIsBack) {
  one_.SetChannel(nullptr);
  const std::string value(kMaxStoreValueBytes, 'v');
  size_t refused = 0;
  for (int i = 0; i < 32; ++i) {
    one_.Set(absl::StrCat("k", i), value, Lifetime::kRound,
             [&](const absl::Status& status) { refused += absl::IsResourceExhausted(status) ? 1 : 0; });
  }
  EXPECT_GE(refused, 16u);
  EXPECT_FALSE(one_.HasRoom());
  one_.SetChannel(scheduler_.Channel());
  Blocking two(two_);
  EXPECT_TRUE(two.Wait("k0", std::chrono::seconds(5)).ok());
  Blocking one(one_);
  EXPECT_TRUE(one.Delete("k0").ok()) << "all before it have been taken";
  EXPECT_TRUE(one_.HasRoom());
}

TEST_F(AgentStoreTest, ManyCallersAtOnceLoseNothing) {
  constexpr int kThreads = 8, kEach = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Blocking store(t % 2 == 0 ? one_ : two_);
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(store.Add("count", 1).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  Blocking one(one_);
  EXPECT_EQ(*one.Add("count", 0), kThreads * kEach);
}

// Calls that no agent of Muster sends.
TEST_F(AgentStoreTest, MalformedCallsAreRefusedWithTheField) {
  const auto stub = v1::Store::NewStub(scheduler_.Channel());
  const auto set = [&](const std::function<void(v1::StoreSet&)>& spoil) {
    v1::StoreRequest request;
    v1::StoreSet& set = *request.mutable_set();
    *set.mutable_caller() = CallerOf("n1", 1);
    set.set_key("x");
    set.set_lifetime(v1::LIFETIME_ROUND);
    spoil(set);
    return AskOnce(*stub, request, kPatience);
  };
  EXPECT_TRUE(set([](v1::StoreSet&) {}).ok());
  const std::vector<std::function<void(v1::StoreSet&)>> spoils = {
      [](v1::StoreSet& r) { r.clear_caller(); },
      [](v1::StoreSet& r) { r.mutable_caller()->set_node_id(std::string(kMaxIdBytes + 1, 'n')); },
      [](v1::StoreSet& r) { r.mutable_caller()->set_round(0); },
      [](v1::StoreSet& r) { r.clear_key(); },
      [](v1::StoreSet& r) { r.set_key(std::string(kMaxStoreKeyBytes + 1, 'k')); },
      [](v1::StoreSet& r) { r.set_value(std::string(kMaxStoreValueBytes + 1, 'v')); },
      [](v1::StoreSet& r) { r.set_lifetime(v1::LIFETIME_UNSPECIFIED); },
  };
  for (size_t i = 0; i < spoils.size(); ++i) {
    EXPECT_EQ(set(spoils[i]).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "spoil " << i;
  }
  const auto huge = [](v1::StoreSet& r) { r.set_value(std::string(8 << 20, 'v')); };
  EXPECT_EQ(set(huge).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "not even parsed";
}

grpc::StatusCode GetOnce(const Scheduler& scheduler) {
  v1::StoreRequest request;
  *request.mutable_get()->mutable_caller() = CallerOf("n1", 1);
  request.mutable_get()->set_key("x");
  return AskOnce(*v1::Store::NewStub(scheduler.Channel()), request, kPatience).error_code();
}

// The answer to a read would have to wait for a record that can't be written.
TEST(StoreCallsTest, OnAFullDiskNothingIsRead) {
  std::atomic<bool> is_full = false;
  Scheduler scheduler(kMaxStoreCalls, [&] { return std::string(is_full ? "the disk is full" : ""); });
  scheduler.Form({"n1"});
  EXPECT_EQ(GetOnce(scheduler), grpc::StatusCode::OK);
  is_full = true;
  EXPECT_EQ(GetOnce(scheduler), grpc::StatusCode::UNAVAILABLE) << "agents have their copy";
}

TEST(StoreCallsTest, BeyondTheLimitTheyMayComeAgain) {
  Scheduler scheduler(2);
  scheduler.Form({"n1"});
  EXPECT_EQ(GetOnce(scheduler), grpc::StatusCode::OK);
  AgentStore store(Clock::System());
  store.BeginRound(CallerOf("n1", 1));
  store.SetChannel(scheduler.Channel());
  for (int i = 0; i < 2; ++i) store.Wait(absl::StrCat("never", i), std::chrono::seconds(5), [](const Value&) {});
  bool was_refused = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // when the waits time out
  while (!was_refused && std::chrono::steady_clock::now() < end)
    was_refused = GetOnce(scheduler) == grpc::StatusCode::UNAVAILABLE;
  EXPECT_TRUE(was_refused);
}

}  // namespace
}  // namespace muster::agent
