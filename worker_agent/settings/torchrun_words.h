// Words of torchrun's command line that do here what they do there. Those that can't are in
// common/settings/foreign_words.cc. Pure.
#pragma once

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

void AddPythonWords(SettingsTable& table, AgentSettings& settings);
void AddTorchrunsOutput(SettingsTable& table, AgentSettings& settings);  // --redirects, --tee

// What contradicts them.
void CheckTorchrunsWords(const AgentSettings& settings, SettingsFindings& findings);

}  // namespace muster::agent
