// Adds and checks the settings for HCCL on Ascend devices: --hccl_mode, --device_ips, --super_pod, …
#pragma once

#include "common/settings/settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

void AddHccl(SettingsTable& table, AgentSettings& settings);

// Finds settings that contradict each other or have no effect. HCCL accepts either a rank table or the variables CM_*,
// but not both.
void CheckHccl(const AgentSettings& settings, SettingsFindings& findings);

}  // namespace muster::agent
