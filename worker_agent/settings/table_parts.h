// Parts of ms-worker's table of settings, which agent_settings.cc puts together.
#pragma once

#include <map>
#include <string>

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// env_setting.cc: --env NAME=VALUE: a variable for the processes.
void AddEnv(SettingsTable& table, std::map<std::string, std::string>* env);

// framework_settings.cc: for the frameworks that the agent serves: MPI, Horovod, JAX, torchft's lighthouse, and the
// variables of Open MPI and TensorFlow.
void AddFrameworks(SettingsTable& table, AgentSettings& settings);

}  // namespace muster::agent
