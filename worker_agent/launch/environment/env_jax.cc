// The variables for JAX's jax.distributed, which reads the address; scripts read the numbers, as other platforms set
// them.
#include "absl/strings/str_cat.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {

void AddJaxVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.jax_port == 0) return;
  builder.Identity("JAX_COORDINATOR_ADDRESS", absl::StrCat("127.0.0.1:", input.jax_port));
  // Process 0 always starts a coordination service of its own. On loopback and port 0 nothing connects to it, and it
  // takes no port that something else needs.
  builder.Identity("JAX_COORDINATOR_BIND_ADDRESS", "127.0.0.1:0");
  builder.Identity("JAX_NUM_PROCESSES", WorldSizeOf(input));
  builder.Identity("JAX_PROCESS_ID", SlotOf(input).rank());
  // jax.distributed.initialize() takes this for a start by mpirun (jax/_src/clusters/ompi_cluster.py): then it reads
  // the numbers of --ompi_env. The address in it is not asked, since JAX_COORDINATOR_ADDRESS is set.
  if (input.is_jax_detected) builder.Identity("OMPI_MCA_orte_hnp_uri", "4096.0;tcp://127.0.0.1:1");
}

}  // namespace muster::agent
