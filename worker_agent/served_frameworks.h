// Which launcher this agent is for MPI's, Horovod's, JAX's and torchft's processes, by the settings and the command.
// Reads the program's and the script's file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "worker_agent/gateway/horovod/gateway.h"
#include "worker_agent/gateway/jax/gateway.h"
#include "worker_agent/gateway/lighthouse/gateway.h"
#include "worker_agent/gateway/mpi/gateway.h"
#include "worker_agent/gateway/script_store/gateway.h"
#include "worker_agent/launch/command/mpi_program.h"
#include "worker_agent/runtime/launcher.h"
#include "worker_agent/settings/agent_settings.h"
#include "worker_agent/store/agent_store.h"

namespace muster::agent {

// Whether MPI is served where the command needs it.
bool AsksForMpi(const AgentSettings& settings);

MpiFamily MpiFamilyFor(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

// Whether Horovod's rendezvous is here; `mpi`: what is served besides.
bool ServesHorovod(const AgentSettings& settings, MpiFamily mpi);

// Whether JAX's coordination service is here.
bool ServesJax(const AgentSettings& settings);

// What these processes find each other by.
class ServedFrameworks {
 public:
  // `store` must outlive this.
  ServedFrameworks(MpiGatewayOptions mpi, AgentStore& store);

  // Those that the settings ask for, and the job's store for scripts. This must outlive the launcher's last call.
  void AddTo(Launcher& launcher, const AgentSettings& settings);

 private:
  const MpiFamily family_;
  AgentStore& store_;
  const std::unique_ptr<Gateway> mpi_;
  const std::unique_ptr<Gateway> unserved_mpi_ = MakeUnservedMpi();
  const std::unique_ptr<Gateway> horovod_;
  const std::unique_ptr<Gateway> jax_;
  std::unique_ptr<Gateway> lighthouse_;
  const std::unique_ptr<Gateway> script_store_;
};

}  // namespace muster::agent
