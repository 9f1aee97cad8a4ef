// One simulated agent: it joins, applies its assignment, reports, and comes back when its stream breaks, with the
// patience and back-off of a real one. Belongs to the thread of its completion queue.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/datagrams.h"
#include "bench/load/join_message.h"
#include "bench/load/link.h"
#include "bench/load/load_settings.h"
#include "common/base/clock.h"
#include "worker_agent/core/connection/heartbeat_path.h"
#include "worker_agent/core/connection/jitter.h"

namespace muster::bench {

// The figures of one queue's agents. Belongs to the queue's thread.
struct Tally {
  // Heartbeats that begin within this window are measured.
  MonotonicTime window_begin = MonotonicTime::Never();
  MonotonicTime window_end = MonotonicTime::Never();
  std::vector<uint32_t> answer_us;  // of heartbeats sent within the window
  uint64_t sent = 0;                // heartbeats within the window
  uint64_t bytes = 0;               // of messages in both directions
  uint64_t broken = 0;              // streams that ended after a welcome
  uint64_t failed_dials = 0;
  std::string last_error;
};

struct Context {
  const LoadSettings& settings;
  const Clock& clock;
  std::string target;  // as gRPC wants it
  std::shared_ptr<grpc::ChannelCredentials> credentials;
};

class Agent : public Link::User, public Datagrams::User {
 public:
  // `place` is the number with which the queue's events name this agent. Owns none of its arguments.
  Agent(const Context& context, grpc::CompletionQueue& queue, Datagrams& datagrams, Tally& tally, uint32_t number,
        size_t place);

  void Begin();
  // The time at which to call OnTime next; Never() while the agent waits for the server only.
  MonotonicTime next_at() const { return next_at_; }
  void OnTime();

  bool is_in() const { return is_in_; }  // connected and holds an assignment
  const std::vector<uint32_t>& ranks() const { return ranks_; }
  uint64_t rank_changes() const { return rank_changes_; }
  MonotonicTime begun() const { return begun_; }
  MonotonicTime welcomed() const { return welcomed_; }
  MonotonicTime assigned() const { return assigned_; }
  MonotonicTime broken() const { return broken_; }  // when the stream broke last
  size_t assignment_bytes() const { return assignment_bytes_; }
  const v1::DesiredState& desired() const { return desired_; }
  const Membership& member() const { return member_; }
  std::shared_ptr<grpc::Channel> channel() const { return link_ == nullptr ? nullptr : link_->channel(); }
  const std::string& refusal() const { return refusal_; }

 private:
  enum class Phase { kIdle, kWaiting, kDialing, kOpen };
  void Dial();
  void Report();
  void FillProgress(v1::Report& report) const;
  void OnMessage(const grpc::ByteBuffer& bytes) override;
  void OnOver(const grpc::Status& status) override;
  void OnAnswered(uint64_t heartbeat_seq) override;
  void OnWelcome(const v1::SchedulerMessage& message);
  void OnDesired(v1::DesiredState desired, size_t bytes);
  void OnAcknowledged();
  MonotonicTime Now() const { return context_.clock.Read().monotonic; }

  const Context& context_;
  grpc::CompletionQueue& queue_;
  Datagrams& datagrams_;
  Tally& tally_;
  const size_t place_;
  Membership member_;
  agent::Jitter jitter_;
  Phase phase_ = Phase::kIdle;
  MonotonicTime next_at_ = MonotonicTime::Never();
  absl::Duration back_off_;
  absl::Duration interval_;
  std::unique_ptr<Link> link_;
  bool is_in_ = false;
  uint64_t heartbeat_seq_ = 0;
  agent::HeartbeatPath heartbeat_path_;
  uint64_t stream_ = 0;                              // the stream of the datagrams; 0: none
  MonotonicTime reported_ = MonotonicTime::Never();  // when the heartbeat that waits for its answer was sent
  bool is_measured_ = false;                         // whether that heartbeat is measured
  MonotonicTime begun_, welcomed_, assigned_, broken_;
  std::vector<uint32_t> ranks_;
  uint64_t rank_changes_ = 0;
  size_t assignment_bytes_ = 0;
  v1::DesiredState desired_;
  std::string refusal_;
};

}  // namespace muster::bench
