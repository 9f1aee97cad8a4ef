#include "worker_agent/agent_timeouts.h"

#include <algorithm>

#include "worker_agent/session/session.h"

namespace muster::agent {

absl::Duration RequestTimeout(const AgentSettings& settings) {
  return std::min(settings.receive_msg_timeout, SessionOptions().request_timeout);
}

std::vector<TimeoutStep> AgentTimeouts(const AgentSettings& settings) {
  std::vector<TimeoutStep> steps = {
      {"stop_timeout", settings.stop_timeout, "between stop_signal and SIGKILL"},
      {"receive_msg_timeout", RequestTimeout(settings), "for the answer to a request"},
      {"cluster_retry_num x 3 s", settings.cluster_retry_num * absl::Seconds(3), "trying to reach the scheduler"}};
  if (settings.topo_timeout) {
    steps.push_back({"topo_timeout", *settings.topo_timeout, "until all nodes have joined"});
  }
  return steps;
}

absl::Duration SignalPatience(const AgentSettings& settings) { return 2 * settings.stop_timeout + absl::Seconds(90); }

}  // namespace muster::agent
