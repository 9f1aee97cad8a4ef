// The variables for MPI programs that this agent launches. If another launcher (mpirun, srun) started the agent, that
// launcher's variables are removed: they describe the agent, not its processes.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
  // A waiting rank of Open MPI spins and takes a whole CPU. With fewer CPUs than ranks it must yield to the others.
  if (input.shares_cpus) builder.Default("OMPI_MCA_mpi_yield_when_idle", "1");
  if (!input.own_address.empty()) builder.Default("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", input.own_address);
}

// --allow_exec: adds the variables with which a launcher (mpirun, …) starts its ranks through the agents instead of
// ssh. The launcher's remote commands get them, too.
void AddExecVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.launch_agent_folder.empty()) return;
  // If another launcher started the agent, its variables are removed: with them, the launcher to be started here would
  // believe that it is a rank.
  for (const auto& [name, value] : input.inherited) {
    for (const char* family : {"PMI_", "PMI2_", "PMIX_", "PALS_", "HYDI_", "MPI_LOCAL", "JSM_JSRUN_PORT"}) {
      if (absl::StartsWith(name, family)) builder.Drop(name);
    }
    const bool is_of_key = absl::StartsWith(name, "MS_TLS_") || absl::StartsWith(name, "MS_HTTP_TOKEN");
    if (input.serves_commands && is_of_key) builder.Withhold(name);
  }
  const std::string path = builder.Inherited("PATH");
  builder.Replace("PATH", absl::StrCat(input.launch_agent_folder, ":", path.empty() ? "/usr/bin:/bin" : path));
  for (const auto& [name, value] : input.exec_variables) builder.Replace(name, value);
  for (const auto& [name, value] : input.exec_defaults) builder.Default(name, value);
  // Hydra needs the interface if this host's own name does not resolve to the address that other nodes use.
  if (!input.collective_interface.empty()) builder.Default("HYDRA_IFACE", input.collective_interface);
}

}  // namespace muster::agent
