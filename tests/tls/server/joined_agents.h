// Agents that have joined and stay, for tests of what may not disturb them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/rpc/server_fixture.h"

namespace muster::scheduler {

// One thread at a time. Nobody else may send heartbeats through `loop`, nor open streams on the server of `sink` before
// the last Join.
class JoinedAgents {
 public:
  JoinedAgents(FakeLoop& loop, EffectSink& sink) : loop_(loop), sink_(sink) {}

  void Join(const std::shared_ptr<grpc::Channel>& channel, const std::string& node_id, std::chrono::seconds longest) {
    auto stream = std::make_unique<AgentStream>(channel, longest);
    v1::AgentMessage join = AgentStream::GoodJoin();
    join.mutable_join()->set_node_id(node_id);
    ASSERT_TRUE(stream->Write(join));
    const JoinRequested request = loop_.Await<JoinRequested>(agents_.size());
    sink_.OnSend(request.stream, WelcomeMessage());
    ASSERT_TRUE(stream->Read().has_welcome());
    agents_.push_back({request.stream, std::move(stream)});
  }

  // A heartbeat of each, one after the other, and its answer.
  void Beat() {
    for (Agent& agent : agents_) {
      const MonotonicTime begin = Clock::System().Read().monotonic;
      ASSERT_TRUE(agent.stream->Write(AgentStream::Heartbeat(++heartbeats_)));
      ASSERT_EQ(loop_.Await<ReportReceived>(heartbeats_ - 1).stream, agent.id);
      const auto answer = std::make_shared<v1::SchedulerMessage>();
      answer->mutable_acknowledgement()->set_heartbeat_seq(heartbeats_);
      sink_.OnSend(agent.id, answer);
      ASSERT_EQ(agent.stream->Read().acknowledgement().heartbeat_seq(), heartbeats_) << "the stream was cut";
      longest_ = std::max(longest_, Clock::System().Read().monotonic - begin);
    }
  }

  uint64_t heartbeats() const { return heartbeats_; }
  absl::Duration longest() const { return longest_; }  // that one of them took

 private:
  struct Agent {
    StreamId id;
    std::unique_ptr<AgentStream> stream;
  };
  FakeLoop& loop_;
  EffectSink& sink_;
  std::vector<Agent> agents_;
  uint64_t heartbeats_ = 0;
  absl::Duration longest_ = absl::ZeroDuration();
};

}  // namespace muster::scheduler
