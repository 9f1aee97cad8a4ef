// For MPI programs that this agent is the launcher of. What another launcher (mpirun, srun) told the agent is not
// theirs.
#include "absl/strings/match.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {
namespace {

constexpr const char* kLaunchersFamilies[] = {"PMI_", "PMI2_", "PMIX_", "PALS_", "HYDI_", "HYDRA_", "MPI_LOCAL"};

}  // namespace

void AddMpiVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (!input.has_mpi) return;
  for (const auto& [name, value] : input.inherited) {
    for (const char* family : kLaunchersFamilies) {
      if (absl::StartsWith(name, family)) builder.Drop(name);
    }
  }
  for (const auto& [name, value] : input.mpi_variables) builder.Replace(name, value);
  const v1::Assignment& assignment = input.desired->assignment();
  builder.Replace("MPI_LOCALNRANKS", std::to_string(assignment.local_world_size()));
  builder.Replace("MPI_LOCALRANKID", std::to_string(SlotOf(input).local_rank()));
  if (!input.own_address.empty()) builder.Default("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", input.own_address);
}

}  // namespace muster::agent
