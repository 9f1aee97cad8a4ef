// Which launcher this agent is for MPI's and Horovod's processes, by the settings and the command. Reads the program's
// and the script's file.
#pragma once

#include <map>
#include <string>

#include "worker_agent/launch/command/mpi_program.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

// Whether MPI is served where the command needs it.
bool AsksForMpi(const AgentSettings& settings);

MpiFamily MpiFamilyFor(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Whether Horovod's rendezvous is here; `mpi`: what is served besides.
bool ServesHorovod(const AgentSettings& settings, MpiFamily mpi);

}  // namespace muster::agent
