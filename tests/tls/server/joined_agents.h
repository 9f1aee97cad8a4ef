// Agents that have joined and stay: tests check that nothing disturbs them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/rpc/server_fixture.h"

namespace muster::scheduler {

// Used by one thread at a time. No one else may send heartbeats through `loop`, or open streams on the server of `sink`
// before the last Join.
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

  // Sends a heartbeat of each agent, one after the other, and waits for each answer.
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
  absl::Duration longest() const { return longest_; }  // the longest time of one answer

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
