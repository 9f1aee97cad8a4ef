#include <string>

#include "common/base/ids.h"
#include "common/base/limits.h"
#include "worker_agent/settings/table_parts.h"

namespace muster::agent {
namespace {

void AddLighthouse(SettingsTable& table, AgentSettings& s) {
  Setting& name = table.AddString(
      "lighthouse", &s.lighthouse,
      "torchft's replicas meet through their agents (TORCHFT_LIGHTHOUSE): those of all jobs that have the same NAME.");
  name.parse = [to = &s.lighthouse](const std::string& text) -> absl::Status {
    if (!IsId(text)) return absl::InvalidArgumentError("must be a name as a job has it: letters, digits and . _ : @ -");
    *to = text;
    return absl::OkStatus();
  };
  name.Value("NAME").Env({"MS_LIGHTHOUSE"});
  table
      .AddUint("lighthouse_min_replicas", &s.lighthouse_min_replicas, 1, kMaxWorkers,
               "--lighthouse: how many replicas train together at least.")
      .Value("N")
      .Env({"MS_LIGHTHOUSE_MIN_REPLICAS"});
  table
      .AddSeconds("lighthouse_join_timeout", &s.lighthouse_join_timeout, absl::ZeroDuration(), absl::Hours(24),
                  "--lighthouse: how long those that are enough wait for others that are alive.")
      .Env({"MS_LIGHTHOUSE_JOIN_TIMEOUT"});
  table
      .AddSeconds("lighthouse_heartbeat_timeout", &s.lighthouse_heartbeat_timeout, absl::Milliseconds(500),
                  absl::Hours(1), "--lighthouse: a replica that is silent for so long is not alive.")
      .Env({"MS_LIGHTHOUSE_HEARTBEAT_TIMEOUT"});
}

}  // namespace

void AddFrameworks(SettingsTable& table, AgentSettings& s) {
  table
      .AddChoice("mpi", &s.mpi, {"auto", "pmix", "pmi1", "none"},
                 "Starts MPI programs as mpirun does, on this job's ranks. pmix: Open MPI; pmi1: MPICH and its family. "
                 "auto: what the program is linked with, and either for Python that imports mpi4py.")
      .Env({"MS_MPI"});
  table
      .AddChoice("horovod", &s.horovod, {"auto", "gloo", "mpi", "none"},
                 "Horovod's processes find each other without horovodrun. gloo: through their agents; mpi: as ranks of "
                 "MPI. auto: gloo for Python that imports horovod, unless MPI is served.")
      .Env({"MS_HOROVOD"});
  table
      .AddChoice("jax", &s.jax, {"auto", "on", "auto-detect", "none"},
                 "JAX's processes find each other through their agents, which are its coordination service "
                 "(JAX_COORDINATOR_ADDRESS). auto: for Python that imports jax, unless the script names a "
                 "coordinator_address of its own. auto-detect: as on, and jax.distributed.initialize() finds its "
                 "numbers by itself; not for programs that use MPI.")
      .Env({"MS_JAX"});
  AddLighthouse(table, s);
  table
      .AddBool("ompi_env", &s.ompi_env,
               "Also tells the processes their rank as Open MPI's mpirun would (OMPI_COMM_WORLD_*), for programs that "
               "read only that.")
      .Env({"MS_OMPI_ENV"});
  table
      .AddBool("tf_config", &s.tf_config,
               "Also tells the processes the cluster as TensorFlow's own strategies read it (TF_CONFIG); up to 1,024 "
               "ranks.")
      .Env({"MS_TF_CONFIG"});
}

}  // namespace muster::agent
