// The settings of the frameworks that the agent serves: MPI, Horovod, JAX, torchft's lighthouse, and the variables of
// Open MPI and TensorFlow.
#pragma once

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

void AddFrameworks(SettingsTable& table, AgentSettings& settings);

}  // namespace muster::agent
