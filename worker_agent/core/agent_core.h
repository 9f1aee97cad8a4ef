// The agent's state machine: joins, reports, converges on the desired state, decides the exit code.
//
// As pure as the scheduler's core: no I/O, no threads, no clock; its jitter is drawn from the incarnation, so equal
// events at equal times give equal effects. One thread owns it.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

struct AgentOptions {
  std::string job_id = "default";
  std::string node_id;  // empty: the scheduler assigns one
  std::string
      kept_node_id;  // the id that it assigned to a former start; asked for again, and dropped when that is refused
  uint64_t incarnation = 0;  // random, not 0
  v1::JobSettings settings;
  v1::NodeInfo node;
  uint32_t retry_num = 610;  // MS_CLUSTER_RETRY_NUM: the patience is retry_num × 3 s
  absl::Duration stop_timeout = absl::Seconds(30);
  bool passes_interrupt = false;       // SIGINT goes on to the processes before they get stop_signal
  std::string scheduler;               // host:port, for messages
  std::string scheduler_hint;          // what to do if no scheduler is found there; may be empty
  bool wants_whole_peer_list = false;  // also beyond kMaxRanksInClusterFile
  bool has_command = true;             // false: print the assignment and wait for nothing
  bool shows_output = false;           // the user has seen what this node's processes wrote, as it was
};

class AgentCore {
 public:
  explicit AgentCore(AgentOptions options);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  Effects Apply(const Event& event, MonotonicTime now);

  // When Apply(Tick) is due next; Never() if nothing waits for time.
  MonotonicTime NextDeadline() const;

  // The time between two reports, as the scheduler last set it: observations should be no older than that.
  absl::Duration heartbeat_interval() const;

  // True once Finish was given out; nothing more comes.
  bool IsFinished() const;

  void CheckInvariants() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent
