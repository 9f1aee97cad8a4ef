// The durations that follow from an agent's settings.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// MindSpore's setting, of which this program takes no more than is good for it.
absl::Duration RequestTimeout(const AgentSettings& settings);

// What --check_config prints of the timeouts.
std::vector<TimeoutStep> AgentTimeouts(const AgentSettings& settings);

// For processes to stop, the scheduler to be told, the keeper and a scheduler of our own to end.
absl::Duration SignalPatience(const AgentSettings& settings);

}  // namespace muster::agent
