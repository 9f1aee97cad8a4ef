// Parts of ms-worker's table of settings, which agent_settings.cc puts together.
#pragma once

#include <map>
#include <string>

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// env_setting.cc: adds --env NAME=VALUE, which sets a variable of the processes.
void AddEnv(SettingsTable& table, std::map<std::string, std::string>* env);

// framework_settings.cc: adds the settings for frameworks that the agent serves (MPI, Horovod, JAX, torchft), and for
// the variables of Open MPI and TensorFlow.
void AddFrameworks(SettingsTable& table, AgentSettings& settings);

// preflight_settings.cc: adds the settings for checks before the start.
void AddPreflight(SettingsTable& table, AgentSettings& settings);

}  // namespace muster::agent
