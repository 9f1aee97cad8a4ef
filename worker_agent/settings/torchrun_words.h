// Adds and checks flags of torchrun that have the same effect here. torchrun's other flags are in
// common/settings/foreign_words.cc. Pure.
#pragma once

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

void AddPythonWords(SettingsTable& table, AgentSettings& settings);
void AddTorchrunsOutput(SettingsTable& table, AgentSettings& settings);  // --redirects, --tee

// Finds settings that contradict these flags, or have no effect with them.
void CheckTorchrunsWords(const AgentSettings& settings, SettingsFindings& findings);

}  // namespace muster::agent
