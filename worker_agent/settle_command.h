// What the command, the rank table and the surroundings add to the settings, before anything is started.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/settings/settings.h"
#include "worker_agent/launch/command/command_check.h"
#include "worker_agent/launch/command/mpi_program.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// The job's size, of the rank table, where the settings don't give it.
void TakeSize(AgentSettings& settings, LoadResult& loaded);

// CheckAgentSettings, and what the command and the surroundings say beside the settings.
SettingsFindings FindMore(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Puts a Python script under its interpreter, which it logs. Why the command can't be started here, if that is so.
std::optional<CommandProblem> SettleCommand(AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment);

// Whether MPI is served where the command needs it.
bool AsksForMpi(const AgentSettings& settings);

// Which launcher of MPI's the agent is.
MpiFamily MpiFamilyFor(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

}  // namespace muster::agent
