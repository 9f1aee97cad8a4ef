// The agent's state machine: joins, reports, converges on the desired state, decides the exit code.
//
// It does no I/O and has no threads and no clock, like the scheduler's core. Its jitter is drawn from the incarnation,
// so equal events at equal times give equal effects. One thread owns it.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/number_list.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

struct AgentOptions {
  std::string job_id = "default";
  std::string node_id;  // empty: the scheduler assigns one
  // The id that the scheduler assigned to a former start. The join asks for it again; if that is refused, it is
  // dropped.
  std::string kept_node_id;
  uint64_t incarnation = 0;  // random, not 0
  v1::JobSettings settings;
  v1::NodeInfo node;
  uint32_t retry_num = 610;  // MS_CLUSTER_RETRY_NUM: gives up after retry_num × 3 s without the scheduler
  absl::Duration stop_timeout = absl::Seconds(30);
  absl::Duration fence_stop_timeout = absl::Seconds(5);  // how long the keeper takes when the fence falls
  bool passes_interrupt = false;         // after SIGINT, the processes get SIGINT first, and stop_signal later
  std::string scheduler;                 // host:port, for messages
  std::string scheduler_hint;            // what to do if no scheduler is found there; may be empty
  bool wants_whole_peer_list = false;    // even if the job has more than kMaxRanksInClusterFile ranks
  bool has_command = true;               // false: print the assignment and start no process
  std::vector<NumberRange> shown_ranks;  // the user sees the output of these ranks, if they are this node's
};

class AgentCore {
 public:
  explicit AgentCore(AgentOptions options);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  Effects Apply(const Event& event, MonotonicTime now);

  // Returns when Apply(Tick) is due next; Never() if the core waits for no time.
  MonotonicTime NextDeadline() const;

  // Returns the time between two reports, as the scheduler last set it. The caller should look for progress at least
  // that often.
  absl::Duration heartbeat_interval() const;

  // Returns true once Apply has returned Finish. Later calls of Apply return nothing.
  bool IsFinished() const;

  void CheckInvariants() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
