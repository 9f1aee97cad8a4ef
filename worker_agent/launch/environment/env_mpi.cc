// The variables for MPI programs when this agent is their launcher. Values that another launcher (mpirun, srun) gave
// the agent are not theirs.
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
  // Ranks of Open MPI wait in a loop that leaves the CPU to no other process.
  if (input.shares_cpus) builder.Default("OMPI_MCA_mpi_yield_when_idle", "1");
  if (!input.own_address.empty()) builder.Default("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", input.own_address);
}

// Adds the variables for launchers that start the ranks themselves through the agents (--allow_exec), and for their
// programs.
void AddExecVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.launch_agent_folder.empty()) return;
  // Another launcher's variables go, if it started the agent: this one would take itself for a rank of it.
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
  // As with GLOO_SOCKET_IFNAME: where this host's own name does not lead to the address that the others know.
  if (!input.collective_interface.empty()) builder.Default("HYDRA_IFACE", input.collective_interface);
}

}  // namespace muster::agent
