// A real server on loopback with a stand-in for the loop: events go to a list, and the test gives the effects.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "muster/v1/admin.grpc.pb.h"
#include "muster/v1/rendezvous.grpc.pb.h"
#include "muster/v1/store.grpc.pb.h"
#include "scheduler/rpc/server.h"
#include "tests/unit/common/times.h"

namespace muster::scheduler {

class FakeLoop {
 public:
  bool Post(Event event, std::function<void()> applied) {
    std::function<void()> now;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const bool is_new_work = std::holds_alternative<JoinRequested>(event) ||
                               std::holds_alternative<QueryReceived>(event) ||
                               std::holds_alternative<StoreRequested>(event);
      if (is_full_ && is_new_work) return false;
      events_.push_back(std::move(event));
      if (applies_at_once_) {
        now = std::move(applied);
      } else if (applied) {
        unapplied_.push_back(std::move(applied));
      }
      changed_.notify_all();
    }
    if (now) now();
    return true;
  }

  // Returns the `index`th event of this kind, counted from 0, once it has come.
  template <typename Kind>
  Kind Await(size_t index = 0) {
    std::unique_lock<std::mutex> lock(mutex_);
    const Event* found = nullptr;
    changed_.wait_for(lock, kPatience, [&] { return (found = Find<Kind>(index)) != nullptr; });
    if (found == nullptr) {
      ADD_FAILURE() << "event " << index << " of this kind never came; there are " << events_.size() << " events";
      return Kind{};
    }
    return std::get<Kind>(*found);
  }
  template <typename Kind>
  size_t CountOf() {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t count = 0;
    for (const Event& event : events_) count += std::holds_alternative<Kind>(event) ? 1 : 0;
    return count;
  }

  void ApplyAtOnce(bool at_once) {
    std::lock_guard<std::mutex> lock(mutex_);
    applies_at_once_ = at_once;
  }
  void SetFull(bool is_full) {
    std::lock_guard<std::mutex> lock(mutex_);
    is_full_ = is_full;
  }
  // Calls the oldest waiting `applied`.
  void ApplyOne() {
    std::function<void()> applied;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, kPatience, [&] { return !unapplied_.empty(); });
      ASSERT_FALSE(unapplied_.empty());
      applied = std::move(unapplied_.front());
      unapplied_.erase(unapplied_.begin());
    }
    applied();
  }

 private:
  template <typename Kind>
  const Event* Find(size_t index) const {
    for (const Event& event : events_) {
      if (std::holds_alternative<Kind>(event) && index-- == 0) return &event;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  std::vector<std::function<void()>> unapplied_;
  bool applies_at_once_ = true;
  bool is_full_ = false;
};

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    Restart({});
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Starts a new server with these limits.
  void Restart(RpcServer::Options options) {
    server_.reset();
    auto listeners = OpenTcpListeners(BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}, 0);
    ASSERT_TRUE(listeners.ok()) << listeners.status();
    port_ = listeners->front().port;
    auto admin = OpenUnixListener(folder_ + "/admin.sock");
    ASSERT_TRUE(admin.ok()) << admin.status();
    listeners->push_back(*std::move(admin));
    options.listeners = *std::move(listeners);
    if (has_datagrams_) {
      auto datagrams = OpenDatagramSockets(BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}, port_);
      ASSERT_TRUE(datagrams.ok()) << datagrams.status();
      options.datagrams = *std::move(datagrams);
    }
    server_ = std::make_unique<RpcServer>(std::move(options), authorizer_, Clock::System(), counted_,
                                          [](const RunSettled&) {});
    ASSERT_TRUE(server_
                    ->Start([this](Event event, std::function<void()> applied) {
                      return loop_.Post(std::move(event), std::move(applied));
                    })
                    .ok());
  }

  std::shared_ptr<grpc::Channel> Channel(const std::string& target) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  }
  std::shared_ptr<grpc::Channel> TcpChannel() { return Channel(absl::StrCat("127.0.0.1:", port_)); }
  std::shared_ptr<grpc::Channel> AdminChannel() { return Channel(absl::StrCat("unix:", folder_, "/admin.sock")); }

  EffectSink& sink() { return server_->sink(); }
  uint64_t Count(const std::string& kind) { return counted_.Counts()[kind]; }

  static void Bound(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
  }

  CountedLog counted_{Clock::System()};
  PlaintextAuthorizer authorizer_;
  FakeLoop loop_;
  std::string folder_;
  uint16_t port_ = 0;
  bool has_datagrams_ = false;
  std::unique_ptr<RpcServer> server_;
};

// One agent's stream.
class AgentStream {
 public:
  explicit AgentStream(const std::shared_ptr<grpc::Channel>& channel, std::chrono::seconds longest = kPatience)
      : stub_(v1::Rendezvous::NewStub(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + longest);
    stream_ = stub_->Session(&context_);
  }
  ~AgentStream() {
    if (!is_finished_) {
      context_.TryCancel();
      stream_->Finish();
    }
  }

  static v1::AgentMessage GoodJoin() {
    v1::AgentMessage message;
    v1::Join& join = *message.mutable_join();
    join.set_protocol_version(kProtocolVersion);
    join.set_job_id("default");
    join.set_node_id("n1");
    join.set_incarnation(7);
    join.set_connect_seq(1);
    join.mutable_node()->set_role(v1::ROLE_WORKER);
    join.mutable_node()->set_host_name("host");
    join.mutable_node()->set_machine_id("m");
    join.mutable_node()->add_slots();
    return message;
  }
  static v1::AgentMessage Heartbeat(uint64_t seq) {
    v1::AgentMessage message;
    message.mutable_report()->set_heartbeat_seq(seq);
    return message;
  }

  bool Write(const v1::AgentMessage& message) { return stream_->Write(message); }
  void HangUp() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // Returns the next message, or an empty one if the stream has ended.
  v1::SchedulerMessage Read() {
    v1::SchedulerMessage message;
    if (!stream_->Read(&message)) message.Clear();
    return message;
  }
  grpc::Status Finish() {
    v1::SchedulerMessage rest;
    while (stream_->Read(&rest)) {
    }
    is_finished_ = true;
    return stream_->Finish();
  }

 private:
  std::unique_ptr<v1::Rendezvous::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::SchedulerMessage>> stream_;
  bool is_finished_ = false;
};

inline std::shared_ptr<v1::SchedulerMessage> WelcomeMessage() {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_welcome()->set_node_id("n1");
  return message;
}

inline std::shared_ptr<v1::SchedulerMessage> DesiredMessage(uint32_t round, size_t ballast = 0) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_desired()->set_round(round);
  message->mutable_desired()->set_peers_digest(std::string(ballast, 'x'));
  return message;
}

}  // namespace muster::scheduler
