// Words of torchrun's command line that have the same effect here. The others are in common/settings/foreign_words.cc.
// Pure.
#pragma once

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

void AddPythonWords(SettingsTable& table, AgentSettings& settings);
void AddTorchrunsOutput(SettingsTable& table, AgentSettings& settings);  // --redirects, --tee

// Finds settings that contradict them.
void CheckTorchrunsWords(const AgentSettings& settings, SettingsFindings& findings);

}  // namespace muster::agent
