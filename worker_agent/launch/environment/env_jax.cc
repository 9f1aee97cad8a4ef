// The variables for JAX. jax.distributed reads the addresses. Scripts read the process's number and the number of
// processes, which have the names that other platforms use.
#include "absl/strings/str_cat.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {

void AddJaxVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.jax_port == 0) return;
  builder.Identity("JAX_COORDINATOR_ADDRESS", absl::StrCat("127.0.0.1:", input.jax_port));
  // Process 0 always starts a coordination service, though the agent has one. At loopback's port 0 that service gets a
  // free port, and no process connects to it.
  builder.Identity("JAX_COORDINATOR_BIND_ADDRESS", "127.0.0.1:0");
  builder.Identity("JAX_NUM_PROCESSES", WorldSizeOf(input));
  builder.Identity("JAX_PROCESS_ID", SlotOf(input).rank());
  // If this variable is set, jax.distributed.initialize() thinks that mpirun started it
  // (jax/_src/clusters/ompi_cluster.py), and reads rank and size from the variables of --ompi_env. It does not use the
  // address in the value, since JAX_COORDINATOR_ADDRESS is set.
  if (input.is_jax_detected) builder.Identity("OMPI_MCA_orte_hnp_uri", "4096.0;tcp://127.0.0.1:1");
}

}  // namespace muster::agent
