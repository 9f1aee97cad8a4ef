// What the platform, the command, the rank table and the surroundings add to the settings, before anything is started.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/settings/settings.h"
#include "worker_agent/launch/command/command_check.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// What the settings don't give: of the platform (--from), and the job's size, of the rank table. Takes away what is
// meant for another job than one of --standalone.
void TakeMore(const SettingsTable& table, std::map<std::string, std::string>& environment, AgentSettings& settings,
              LoadResult& loaded);

// CheckAgentSettings, and what the command and the surroundings say beside the settings.
SettingsFindings FindMore(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Logs what was taken of the platform. Puts a Python script under its interpreter, which it logs. Why the command can't
// be started here, if that is so.
std::optional<CommandProblem> SettleCommand(AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

}  // namespace muster::agent
