// The settings for HCCL on Ascend devices: --hccl_mode and its companions.
#pragma once

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

void AddHccl(SettingsTable& table, AgentSettings& settings);

// Finds settings that contradict each other or have no effect. HCCL takes either a rank table or CM_*, never both.
void CheckHccl(const AgentSettings& settings, SettingsFindings& findings);

}  // namespace muster::agent
