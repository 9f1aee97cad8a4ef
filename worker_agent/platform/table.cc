// The platforms that --from knows:
//
//   name      nodes                    place                  processes a node     first node
//   slurm     SLURM_STEP_NUM_TASKS     SLURM_PROCID           GPUs, with one task  SLURM_STEP_NODELIST
//   kubeflow  PET_NNODES               PET_NODE_RANK          PET_NPROC_PER_NODE   PET_MASTER_ADDR
//   lws       LWS_GROUP_SIZE           LWS_WORKER_INDEX       –                    LWS_LEADER_ADDRESS
//   jobset    –                        JOB_COMPLETION_INDEX   –                    by its naming
//   volcano   VC_…_NUM or WORLD_SIZE   VC_TASK_INDEX or RANK  –                    VC_…_HOSTS or MASTER_ADDR
//   ascend    (WORLD_SIZE: processes)  RANK                   LOCAL_WORLD_SIZE     MASTER_ADDR
//   k8s       –                        JOB_COMPLETION_INDEX   –                    –
//   openmpi   OMPI_COMM_WORLD_SIZE     OMPI_COMM_WORLD_RANK   –                    –
//
// "–": the platform's environment does not have it. In Volcano's pytorch plugin, RANK and WORLD_SIZE count pods. With
// Ascend's operator, RANK counts pods, but WORLD_SIZE counts processes.
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker_agent/platform/hostlist.h"
#include "worker_agent/platform/platform.h"

namespace muster::agent {
namespace {

// Returns the scheduler's port for a step of a Slurm job. Steps that run on a machine at the same time should get
// different ports. All are below the ports that the kernel gives to outgoing connections. The three ports after each
// one stay free, for other ports of a scheduler.
uint32_t PortFor(uint64_t job, uint64_t step) {
  return 16384 + static_cast<uint32_t>(job % 2048) * 8 + static_cast<uint32_t>(step % 2) * 4;
}

void ReadSlurm(const Variables& environment, PlatformFacts& facts) {
  const auto job = FactOf(environment, "SLURM_JOB_ID"), step = FactOf(environment, "SLURM_STEP_ID");
  if (job && step) {
    facts.job_id = {absl::StrCat("slurm-", job->value, "-", step->value), "SLURM_JOB_ID, SLURM_STEP_ID"};
    uint64_t job_number = 0, step_number = 0;
    if (absl::SimpleAtoi(job->value, &job_number) && absl::SimpleAtoi(step->value, &step_number)) {
      facts.port = {absl::StrCat(PortFor(job_number, step_number)), facts.job_id->from};
    }
  }
  if (const auto list = FactOf(environment, "SLURM_STEP_NODELIST")) {
    const auto hosts = ExpandHostList(list->value);
    if (!hosts.ok()) {
      facts.errors.push_back(absl::StrCat("SLURM_STEP_NODELIST: ", hosts.status().message()));
      return;
    }
    facts.first_host = {hosts->front(), list->from};
    const auto count = FactOf(environment, "SLURM_STEP_NUM_NODES");
    if (count && count->value != absl::StrCat(hosts->size())) {
      facts.warnings.push_back(absl::StrCat("SLURM_STEP_NUM_NODES is ", count->value, ", but SLURM_STEP_NODELIST has ",
                                            hosts->size(), " hosts"));
    }
  }
  // "1" and "1(x2)" mean one task on each node: its agent gets all the node's GPUs. With several tasks on a node, each
  // has one process.
  const auto tasks = FactOf(environment, "SLURM_STEP_TASKS_PER_NODE");
  const bool has_node = tasks && (tasks->value == "1" ||
                                  (absl::StartsWith(tasks->value, "1(x") && !absl::StrContains(tasks->value, ',')));
  if (has_node) facts.slots = FactOf(environment, "SLURM_GPUS_ON_NODE");
}

// Translates torchrun's words for the number of processes, "gpu" and "cpu".
void ReadKubeflow(const Variables& environment, PlatformFacts& facts) {
  if (auto slots = FactOf(environment, "PET_NPROC_PER_NODE")) {
    if (slots->value == "gpu") slots->value = "auto";
    if (slots->value == "cpu") {
      facts.warnings.push_back("PET_NPROC_PER_NODE is cpu, which ms-worker does not know: set --local_worker_num");
    } else {
      facts.slots = slots;
    }
  }
  facts.job_id = PartOfName(facts.first_host, 1);  // JOB-node-0-0.JOB
}

void ReadLeaderWorkerSet(const Variables&, PlatformFacts& facts) {
  facts.job_id = PartOfName(facts.first_host, 0);  // SET-GROUP.SET.NAMESPACE: each group is a job
}

void ReadIndexedJob(const Variables& environment, PlatformFacts& facts) {
  // The host's name is JOB-INDEX.
  const auto host = FactOf(environment, "HOSTNAME");
  if (!host || !facts.node_rank) return;
  const std::string end = absl::StrCat("-", facts.node_rank->value);
  if (!absl::EndsWith(host->value, end) || host->value.size() == end.size()) return;
  facts.node_id = host;
  facts.job_id = {host->value.substr(0, host->value.size() - end.size()), "HOSTNAME"};
}

// Reads the pod's labels, which the manifest must turn into variables (downward API): see docs/platforms.md.
void ReadJobSet(const Variables& environment, PlatformFacts& facts) {
  const auto set = FactOf(environment, "JOBSET_NAME"), group = FactOf(environment, "JOBSET_REPLICATEDJOB_NAME");
  facts.job_id = set;
  facts.node_id = FactOf(environment, "HOSTNAME");  // SET-GROUP-JOB-POD
  if (set && group) {
    facts.first_host = {absl::StrCat(set->value, "-", group->value, "-0-0.", set->value),
                        "JOBSET_NAME, JOBSET_REPLICATEDJOB_NAME"};
  }
  const auto jobs = FactOf(environment, "JOBSET_REPLICATEDJOB_REPLICAS");
  if (facts.node_rank && jobs && jobs->value != "1") {
    facts.node_rank.reset();
    facts.warnings.push_back(absl::StrCat("JOBSET_REPLICATEDJOB_REPLICAS is ", jobs->value,
                                          ": JOB_COMPLETION_INDEX counts the pods of one Job only, so ranks follow "
                                          "the addresses; set --node_rank for other ranks"));
  }
}

// Volcano sets VC_<TASK>_NUM and VC_<TASK>_HOSTS for each task of the job, but no variable says to which task this pod
// belongs.
void ReadVolcano(const Variables& environment, PlatformFacts& facts) {
  std::vector<std::string> tasks;
  for (const auto& [name, value] : environment) {
    if (absl::StartsWith(name, "VC_") && absl::EndsWith(name, "_NUM") && name.size() > 7 && !value.empty()) {
      tasks.push_back(name.substr(3, name.size() - 7));
    }
  }
  std::optional<Fact> hosts;
  if (!tasks.empty()) hosts = FactOf(environment, absl::StrCat("VC_", tasks[0], "_HOSTS"));
  if (hosts) hosts->value = hosts->value.substr(0, hosts->value.find(','));
  facts.job_id = PartOfName(hosts, 1);  // JOB-TASK-INDEX.JOB
  if (FactOf(environment, "RANK") && FactOf(environment, "WORLD_SIZE")) {
    facts.nodes = FactOf(environment, "WORLD_SIZE");
    facts.node_rank = FactOf(environment, "RANK");
    facts.first_host = FactOf(environment, "MASTER_ADDR");
  } else if (tasks.size() == 1) {
    facts.nodes = FactOf(environment, absl::StrCat("VC_", tasks[0], "_NUM"));
    facts.first_host = hosts;
  } else {
    facts.node_rank.reset();
    facts.warnings.push_back(absl::StrCat(
        tasks.empty() ? "there is no VC_<TASK>_NUM"
                      : absl::StrCat("the job has several tasks (", absl::StrJoin(tasks, ", "), ")"),
        ", and the environment does not say to which task this pod belongs: set --worker_num and --node_rank, or use "
        "Volcano's pytorch plugin"));
  }
}

// In a MindSpore job (MS_ROLE is set) the id is not taken: the job's scheduler is a pod of its own, and does not get
// it.
void ReadAscend(const Variables& environment, PlatformFacts& facts) {
  if (!FactOf(environment, "MS_ROLE")) facts.job_id = FactOf(environment, "MINDX_TASK_ID");
}

}  // namespace

const std::vector<Platform>& Platforms() {
  static const auto* const kPlatforms = new std::vector<Platform>{
      {.name = "slurm",
       .what = "a step of Slurm",
       .signs = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
       .inner = {},
       .nodes = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       .node_rank = {"SLURM_PROCID"},
       .more = ReadSlurm},
      {.name = "kubeflow",
       .what = "a pod of Kubeflow's Trainer",
       .signs = {"PET_NNODES", "PET_NODE_RANK"},
       .inner = {"jobset", "volcano", "k8s"},
       .nodes = {"PET_NNODES"},
       .node_rank = {"PET_NODE_RANK", "JOB_COMPLETION_INDEX"},
       .first_host = {"PET_MASTER_ADDR"},
       .more = ReadKubeflow},
      {.name = "lws",
       .what = "a pod of a LeaderWorkerSet",
       .signs = {"LWS_GROUP_SIZE", "LWS_WORKER_INDEX"},
       .inner = {"k8s"},
       .nodes = {"LWS_GROUP_SIZE"},
       .node_rank = {"LWS_WORKER_INDEX"},
       .first_host = {"LWS_LEADER_ADDRESS"},
       .more = ReadLeaderWorkerSet},
      {.name = "jobset",
       .what = "a pod of a JobSet",
       .signs = {"JOBSET_NAME", "JOB_COMPLETION_INDEX"},
       .inner = {"k8s"},
       .node_rank = {"JOB_COMPLETION_INDEX"},
       .more = ReadJobSet},
      {.name = "volcano",
       .what = "a pod of a Volcano job",
       .signs = {"VC_TASK_INDEX"},
       .inner = {"k8s"},
       .node_rank = {"VC_TASK_INDEX", "VK_TASK_INDEX"},
       .more = ReadVolcano},
      {.name = "ascend",
       .what = "a pod of Ascend's operator",
       .signs = {"MINDX_TASK_ID"},
       .inner = {"volcano", "k8s"},
       .node_rank = {"RANK", "CM_RANK"},
       .slots = {"LOCAL_WORLD_SIZE", "CM_LOCAL_WORKER"},
       .workers = {"WORLD_SIZE", "CM_WORKER_SIZE"},
       .first_host = {"MASTER_ADDR", "CM_CHIEF_IP"},
       .more = ReadAscend},
      {.name = "k8s",
       .what = "a pod of an indexed Job of Kubernetes",
       .signs = {"JOB_COMPLETION_INDEX"},
       .inner = {},
       .node_rank = {"JOB_COMPLETION_INDEX"},
       .more = ReadIndexedJob},
      {.name = "openmpi",
       .what = "a process of Open MPI's mpirun",
       .signs = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
       .inner = {"slurm", "kubeflow", "volcano", "jobset", "k8s"},
       .nodes = {"OMPI_COMM_WORLD_SIZE"},
       .node_rank = {"OMPI_COMM_WORLD_RANK"}},
  };
  return *kPlatforms;
}

}  // namespace muster::agent
