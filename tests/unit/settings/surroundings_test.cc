#include "worker_agent/settings/surroundings.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using Variables = std::map<std::string, std::string>;

TEST(Surroundings, AreReportedWithTheNumberToWrite) {
  const std::string tail = ", and no number of workers is set: ";
  const struct {
    Variables environment;
    uint32_t slots;
    std::string hint;
  } cases[] = {
      {{}, 1, ""},
      {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_JOB_NUM_NODES", "3"}},
       1,
       "this looks like a Slurm step of 4 tasks on 2 nodes" + tail + "write --worker_num 4"},
      {{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NUM_NODES", "2"}},
       8,
       "this looks like a Slurm step of 2 tasks on 2 nodes" + tail +
           "write --worker_num 16 (2 agents with 8 workers each)"},
      {{{"SLURM_STEP_NUM_TASKS", "4"}}, 1, "this looks like a Slurm step of 4 tasks" + tail + "write --worker_num 4"},
      {{{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_JOB_NUM_NODES", "3"}}, 1, ""},
      {{{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_SIZE", "2"}},
       1,
       "this looks like a Slurm step of 2 tasks" + tail + "write --worker_num 2"},
      {{{"SLURM_NNODES", "3"}},
       2,
       "this looks like a Slurm job of 3 nodes, outside of a step" + tail +
           "start one agent on each node with srun --ntasks-per-node=1 ms-worker, and write --worker_num 6 (3 agents "
           "with 2 workers each)"},
      {{{"SLURM_JOB_NUM_NODES", "1"}}, 1, ""},
      {{{"SLURM_STEP_NUM_TASKS", "many"}}, 1, ""},
      {{{"OMPI_COMM_WORLD_SIZE", "4"}},
       1,
       "this looks like one of 4 processes that mpirun started" + tail + "write --worker_num 4"},
      {{{"PMI_SIZE", "3"}},
       1,
       "this looks like one of 3 processes that mpirun started" + tail + "write --worker_num 3"},
      {{{"OMPI_COMM_WORLD_SIZE", "1"}}, 1, ""},
      {{{"PMIX_RANK", "0"}},
       1,
       "this looks like a process that an MPI launcher started" + tail +
           "write --worker_num with the number of all workers"},
      {{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, 1, ""},
      {{{"JOB_COMPLETION_INDEX", "1"}}, 1, ""},
      {{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"JOB_COMPLETION_INDEX", "1"}},
       2,
       "this looks like pod 1 of an indexed Kubernetes Job" + tail +
           "write --worker_num with the number of its pods x 2, and --node_rank 1"},
      {{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"WORLD_SIZE", "4"}, {"RANK", "0"}},
       1,
       "this looks like pod 0 of 4 of a PyTorchJob" + tail + "write --worker_num 4 and --node_rank 0"},
  };
  for (const auto& c : cases) EXPECT_EQ(SurroundingsHint(c.environment, c.slots), c.hint);
}

}  // namespace
}  // namespace muster::agent
