// A scheduler with its loop and core on a port of this machine, and calls of the store that block.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/store/job_store.h"
#include "common/sys/log.h"
#include "muster/v1/store.grpc.pb.h"
#include "scheduler/core/core.h"
#include "scheduler/frontend/authorizer.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/loop/loop.h"
#include "scheduler/rpc/server.h"

namespace muster::agent {

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

  // Forms a job of one worker for each of these nodes, in its first round. The nodes have no streams.
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

inline v1::StoreCaller CallerOf(const std::string& node, uint64_t incarnation, uint32_t round = 1) {
  v1::StoreCaller caller;
  caller.set_job_id("train");
  caller.set_run(1);
  caller.set_round(round);
  caller.set_node_id(node);
  caller.set_incarnation(incarnation);
  return caller;
}

// Calls of a store that block until they are answered.
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
    const auto promise = std::make_shared<std::promise<Result>>();
    begin([promise](Result result) { promise->set_value(std::move(result)); });
    auto future = promise->get_future();
    if (future.wait_for(kPatience) != std::future_status::ready) return Result(absl::InternalError("no result"));
    return future.get();
  }
  JobStore& store_;
};

}  // namespace muster::agent
