// The variables, and what the hint calls this process; the first row that fits applies:
//
//   SLURM_STEP_NUM_TASKS > 1                             a task of a Slurm step
//   SLURM_JOB_NUM_NODES > 1 without a step               a Slurm batch script, which runs on one node only
//   OMPI_COMM_WORLD_SIZE, PMI_SIZE, MV2_COMM_WORLD_SIZE  a process of mpirun
//   PMIX_RANK                                            a process of an MPI launcher, of an unknown size
//   KUBERNETES_SERVICE_HOST with WORLD_SIZE and RANK     a pod of a PyTorchJob
//   KUBERNETES_SERVICE_HOST with JOB_COMPLETION_INDEX    a pod of an indexed Job
#include "worker_agent/settings/surroundings.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/settings/values.h"

namespace muster::agent {
namespace {

using Variables = std::map<std::string, std::string>;

bool IsSet(const Variables& environment, const char* name) {
  const auto found = environment.find(name);
  return found != environment.end() && !found->second.empty();
}

// Returns the variable's number; nullopt if it is not set, no number, or less than `low`.
std::optional<int64_t> Number(const Variables& environment, const char* name, int64_t low) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  const auto number = ParseWholeNumber(found->second, low, kMaxWorkers);
  return number.ok() ? std::make_optional(*number) : std::nullopt;
}

std::string Count(int64_t number, const std::string& one) {
  return absl::StrCat(number, " ", one, number == 1 ? "" : "s");
}

std::string Hint(const std::string& looks_like, const std::string& advice) {
  return absl::StrCat("this looks like ", looks_like, ", and no number of workers is set: ", advice);
}

// Proposes a --worker_num, assuming that each task starts an agent with `slots` processes.
std::string WriteNumber(int64_t tasks, uint32_t slots) {
  return absl::StrCat("write --worker_num ", tasks * slots,
                      slots > 1 ? absl::StrCat(" (", Count(tasks, "agent"), " with ", slots, " workers each)") : "");
}

std::string OfSlurm(const Variables& environment, uint32_t slots) {
  const auto tasks = Number(environment, "SLURM_STEP_NUM_TASKS", 1);
  if (tasks) {
    if (*tasks == 1) return "";
    const auto nodes = Number(environment, "SLURM_STEP_NUM_NODES", 1);
    return Hint(absl::StrCat("a Slurm step of ", Count(*tasks, "task"),
                             nodes ? absl::StrCat(" on ", Count(*nodes, "node")) : ""),
                WriteNumber(*tasks, slots));
  }
  auto nodes = Number(environment, "SLURM_JOB_NUM_NODES", 1);
  if (!nodes) nodes = Number(environment, "SLURM_NNODES", 1);
  if (!nodes || *nodes == 1) return "";
  return Hint(absl::StrCat("a Slurm job of ", *nodes, " nodes, outside of a step"),
              absl::StrCat("start one agent on each node with srun --ntasks-per-node=1 ms-worker, and ",
                           WriteNumber(*nodes, slots)));
}

std::string OfMpi(const Variables& environment, uint32_t slots) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const auto size = Number(environment, name, 1);
    if (!size) continue;
    if (*size == 1) return "";
    return Hint(absl::StrCat("one of ", *size, " processes that mpirun started"), WriteNumber(*size, slots));
  }
  if (!IsSet(environment, "PMIX_RANK")) return "";
  return Hint("a process that an MPI launcher started", "write --worker_num with the number of all workers");
}

std::string OfKubernetes(const Variables& environment, uint32_t slots) {
  if (!IsSet(environment, "KUBERNETES_SERVICE_HOST")) return "";
  const auto size = Number(environment, "WORLD_SIZE", 2);
  const auto rank = Number(environment, "RANK", 0);
  if (size && rank) {
    return Hint(absl::StrCat("pod ", *rank, " of ", *size, " of a PyTorchJob"),
                absl::StrCat(WriteNumber(*size, slots), " and --node_rank ", *rank));
  }
  const auto index = Number(environment, "JOB_COMPLETION_INDEX", 0);
  if (!index) return "";
  return Hint(absl::StrCat("pod ", *index, " of an indexed Kubernetes Job"),
              absl::StrCat("write --worker_num with the number of its pods",
                           slots > 1 ? absl::StrCat(" x ", slots) : "", ", and --node_rank ", *index));
}

}  // namespace

std::string SurroundingsHint(const std::map<std::string, std::string>& environment, uint32_t slots) {
  std::string hint = OfSlurm(environment, slots);
  const bool is_slurm = IsSet(environment, "SLURM_STEP_NUM_TASKS");
  if (hint.empty() && !is_slurm) hint = OfMpi(environment, slots);
  if (hint.empty()) hint = OfKubernetes(environment, slots);
  return hint;
}

}  // namespace muster::agent
