#include <string>

#include "common/base/ids.h"
#include "common/base/limits.h"
#include "worker_agent/settings/table_parts.h"

namespace muster::agent {
namespace {

void AddLighthouse(SettingsTable& table, AgentSettings& s) {
  Setting& name = table.AddString("lighthouse", &s.lighthouse,
                                  "Serves torchft's replicas as their lighthouse (TORCHFT_LIGHTHOUSE). Replicas of all "
                                  "jobs with the same NAME train together.");
  name.parse = [to = &s.lighthouse](const std::string& text) -> absl::Status {
    if (!IsId(text)) return absl::InvalidArgumentError("must be a name as a job has it: letters, digits and . _ : @ -");
    *to = text;
    return absl::OkStatus();
  };
  name.Value("NAME").Env({"MS_LIGHTHOUSE"});
  table
      .AddUint("lighthouse_min_replicas", &s.lighthouse_min_replicas, 1, kMaxWorkers,
               "With --lighthouse: least number of replicas that train together.")
      .Value("N")
      .Env({"MS_LIGHTHOUSE_MIN_REPLICAS"});
  table
      .AddSeconds("lighthouse_join_timeout", &s.lighthouse_join_timeout, absl::ZeroDuration(), absl::Hours(24),
                  "With --lighthouse: time for which replicas, once there are enough, wait for others that are alive.")
      .Env({"MS_LIGHTHOUSE_JOIN_TIMEOUT"});
  table
      .AddSeconds("lighthouse_heartbeat_timeout", &s.lighthouse_heartbeat_timeout, absl::Milliseconds(500),
                  absl::Hours(1), "With --lighthouse: time of silence after which a replica is not alive.")
      .Env({"MS_LIGHTHOUSE_HEARTBEAT_TIMEOUT"});
}

}  // namespace

void AddFrameworks(SettingsTable& table, AgentSettings& s) {
  table
      .AddChoice(
          "mpi", &s.mpi, {"auto", "pmix", "pmi1", "none"},
          "Starts MPI programs as mpirun does, with this job's ranks. pmix: Open MPI. pmi1: MPICH and its family. "
          "auto: the one that the program is linked with, or either for Python that imports mpi4py.")
      .Env({"MS_MPI"});
  table
      .AddChoice(
          "horovod", &s.horovod, {"auto", "gloo", "mpi", "none"},
          "Starts Horovod's processes without horovodrun. gloo: they meet through their agents. mpi: as ranks of "
          "MPI. auto: gloo for Python that imports horovod, unless MPI is served.")
      .Env({"MS_HOROVOD"});
  table
      .AddChoice("jax", &s.jax, {"auto", "on", "auto-detect", "none"},
                 "Serves JAX's processes as their coordination service (JAX_COORDINATOR_ADDRESS). auto: if Python "
                 "imports jax and the script sets no other coordinator_address. on: for every command. auto-detect: as "
                 "on, and jax.distributed.initialize() needs no arguments; not for programs that use MPI.")
      .Env({"MS_JAX"});
  AddLighthouse(table, s);
  table
      .AddBool("ompi_env", &s.ompi_env,
               "Also sets the rank variables of Open MPI's mpirun (OMPI_COMM_WORLD_*), for programs that read only "
               "those.")
      .Env({"MS_OMPI_ENV"});
  table
      .AddBool("tf_config", &s.tf_config,
               "Also sets TF_CONFIG, from which TensorFlow's own strategies read the cluster. Up to 1,024 ranks.")
      .Env({"MS_TF_CONFIG"});
}

}  // namespace muster::agent
