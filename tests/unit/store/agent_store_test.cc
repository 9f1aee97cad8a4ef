// The agent's store against a whole scheduler: real gRPC, loop, core.
#include "worker_agent/store/agent_store.h"

#include <gmock/gmock.h>
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
#include "common/sys/log.h"
#include "muster/v1/store.grpc.pb.h"
#include "scheduler/core/core.h"
#include "scheduler/frontend/authorizer.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/loop/loop.h"
#include "scheduler/rpc/server.h"

namespace muster::agent {
namespace {

using Value = absl::StatusOr<std::optional<std::string>>;
using Code = absl::StatusCode;
constexpr auto kPatience = std::chrono::seconds(20);

// ms-scheduler without its settings.
class Scheduler {
 public:
  explicit Scheduler(size_t max_store_calls = kMaxStoreCalls, std::function<std::string()> why_full = nullptr)
      : core_(Options(), "cluster"),
        server_(Server(max_store_calls, std::move(why_full))),
        loop_(core_, journal_, server_->sink(), clock_, {}) {
    EXPECT_TRUE(loop_.Start().ok());
    EXPECT_TRUE(server_
                    ->Start([this](scheduler::Event event, std::function<void()> applied) {
                      return loop_.Post(std::move(event), std::move(applied));
                    })
                    .ok());
  }
  ~Scheduler() {
    server_->Shutdown(absl::ZeroDuration());
    loop_.Stop();
  }

  // A job of one worker for each of these nodes, in its first round. No stream stands behind them.
  void Form(const std::vector<std::string>& nodes) {
    uint64_t number = 0;
    for (const std::string& id : nodes) {
      scheduler::JoinRequested event;
      event.stream = ++number;
      event.peer_address = "127.0.0.1";
      v1::Join& join = event.join;
      join.set_protocol_version(kProtocolVersion);
      join.set_job_id("train");
      join.set_node_id(id);
      join.set_incarnation(number);
      join.set_connect_seq(1);
      join.mutable_settings()->set_worker_num(static_cast<uint32_t>(nodes.size()));
      join.mutable_settings()->set_enable_recovery(true);
      join.mutable_node()->set_role(v1::ROLE_WORKER);
      join.mutable_node()->set_host_name("host");
      join.mutable_node()->set_machine_id("machine");
      join.mutable_node()->add_slots();
      Apply(std::move(event));
    }
  }
  void Apply(scheduler::Event event) {
    std::promise<void> applied;
    ASSERT_TRUE(loop_.Post(std::move(event), [&] { applied.set_value(); }));
    ASSERT_EQ(applied.get_future().wait_for(kPatience), std::future_status::ready);
  }
  std::shared_ptr<grpc::Channel> Channel() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("ipv4:127.0.0.1:", port_), grpc::InsecureChannelCredentials(),
                                     arguments);
  }

 private:
  static scheduler::CoreOptions Options() { return {}; }
  std::unique_ptr<scheduler::RpcServer> Server(size_t max_store_calls, std::function<std::string()> why_full) {
    auto listeners = scheduler::OpenTcpListeners(scheduler::BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}, 0);
    EXPECT_TRUE(listeners.ok()) << listeners.status();
    port_ = listeners->front().port;
    scheduler::RpcServer::Options options;
    options.listeners = *std::move(listeners);
    options.max_store_calls = max_store_calls;
    options.why_full = std::move(why_full);
    return std::make_unique<scheduler::RpcServer>(std::move(options), authorizer_, clock_, counted_,
                                                  [](const scheduler::RunSettled&) {});
  }

  const Clock& clock_ = Clock::System();
  CountedLog counted_{clock_};
  scheduler::PlaintextAuthorizer authorizer_;
  scheduler::MemoryJournal journal_;
  scheduler::Core core_;
  uint16_t port_ = 0;
  std::unique_ptr<scheduler::RpcServer> server_;
  scheduler::Loop loop_;
};

v1::StoreCaller CallerOf(const std::string& node, uint64_t incarnation, uint32_t round = 1) {
  v1::StoreCaller caller;
  caller.set_job_id("train");
  caller.set_run(1);
  caller.set_round(round);
  caller.set_node_id(node);
  caller.set_incarnation(incarnation);
  return caller;
}

// A store's calls with an end to wait for.
class Blocking {
 public:
  explicit Blocking(JobStore& store) : store_(store) {}
  Value Get(const std::string& key) {
    return Await<Value>([&](auto done) { store_.Get(key, done); });
  }
  Value Wait(const std::string& key, std::chrono::milliseconds limit) {
    return Await<Value>([&](auto done) { store_.Wait(key, limit, done); });
  }
  absl::Status Set(const std::string& key, const std::string& value) {
    return Await<absl::Status>([&](auto done) { store_.Set(key, value, Lifetime::kRound, done); });
  }
  absl::Status Delete(const std::string& key) {
    return Await<absl::Status>([&](auto done) { store_.Delete(key, done); });
  }
  absl::StatusOr<int64_t> Add(const std::string& key, int64_t delta) {
    return Await<absl::StatusOr<int64_t>>([&](auto done) { store_.Add(key, delta, Lifetime::kRound, done); });
  }
  Value Swap(const std::string& key, const std::optional<std::string>& expected, const std::string& desired) {
    return Await<Value>([&](auto done) { store_.CompareAndSet(key, expected, desired, Lifetime::kRun, done); });
  }

 private:
  template <typename Result, typename Begin>
  static Result Await(const Begin& begin) {
    const auto told = std::make_shared<std::promise<Result>>();
    begin([told](Result result) { told->set_value(std::move(result)); });
    auto future = told->get_future();
    if (future.wait_for(kPatience) != std::future_status::ready) return Result(absl::InternalError("never told"));
    return future.get();
  }
  JobStore& store_;
};

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

// Most jobs keep nothing in the store, and on a machine without threads to spare an agent shall start all the same.
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
  std::promise<Value> told;
  one_.Wait("late", std::chrono::seconds(5), [&](Value value) { told.set_value(std::move(value)); });
  EXPECT_EQ(one.Wait("never", std::chrono::milliseconds(50)).status().code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(two.Set("late", "here").ok());
  auto future = told.get_future();
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(*future.get(), "here");
}

TEST_F(AgentStoreTest, ARoundThatIsOverEndsTheCalls) {
  Blocking one(one_);
  EXPECT_TRUE(one.Set("x", "1").ok());
  one_.BeginRound(CallerOf("n1", 1, 2));  // which the scheduler knows nothing of
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
  std::promise<absl::Status> told;
  one_.Set("z", "2", Lifetime::kRound, [&](absl::Status status) { told.set_value(status); });
  EXPECT_EQ(*one.Get("z"), "2");
  EXPECT_EQ(*two.Get("z"), std::nullopt);
  one_.SetChannel(scheduler_.Channel());
  auto future = told.get_future();
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

// What no agent of ours sends.
TEST_F(AgentStoreTest, MalformedCallsAreRefusedWithTheField) {
  const auto stub = v1::Store::NewStub(scheduler_.Channel());
  const auto set = [&](const std::function<void(v1::StoreSet&)>& spoil) {
    v1::StoreSet request;
    *request.mutable_caller() = CallerOf("n1", 1);
    request.set_key("x");
    request.set_lifetime(v1::LIFETIME_ROUND);
    spoil(request);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::StoreReply reply;
    return stub->Set(&context, request, &reply);
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
  v1::StoreGet request;
  *request.mutable_caller() = CallerOf("n1", 1);
  request.set_key("x");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::StoreReply reply;
  return v1::Store::NewStub(scheduler.Channel())->Get(&context, request, &reply).error_code();
}

// Its answer would lie behind a record that can't be written.
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
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // when the waits end
  while (!was_refused && std::chrono::steady_clock::now() < end)
    was_refused = GetOnce(scheduler) == grpc::StatusCode::UNAVAILABLE;
  EXPECT_TRUE(was_refused);
}

}  // namespace
}  // namespace muster::agent
