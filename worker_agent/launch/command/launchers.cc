// A program of the command (common/command/started.h)   LauncherIn finds
//
//   torchrun, mpirun, msrun, srun, … (also with a path)  that launcher
//   python [options] -m torch.distributed.run, …         that launcher
//   python [options] /usr/bin/torchrun                   that launcher
//   accelerate launch                                    accelerate launch
//   accelerate with another word                         no launcher
//   torchrun --help in a script                          no launcher
//
// For a node with several slots, a launcher in the command's own words is an error. One in a script is only a warning,
// since no one can know which lines of the script run.
#include "worker_agent/launch/command/launchers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/command/python_target.h"
#include "common/command/started.h"

namespace muster::agent {
namespace {

using Words = std::vector<std::string>;

// The place and number of starts that a launcher needs: once on each node, or once for the job.
enum class Start { kOnEachNode, kOnce, kOnceForMpi };

struct Known {
  const char* program;
  const char* module;  // its name after python -m; null: it has none
  Start start;
  const char* usage;
};

constexpr char kTorchrun[] =
    "torchrun --nnodes {nnodes} --nproc_per_node {nproc_per_node} --node_rank {node_rank} --master_addr {master_addr} "
    "--master_port {master_port}";

constexpr Known kKnown[] = {
    {"torchrun", "torch.distributed.run", Start::kOnEachNode, kTorchrun},
    {"torchrun", "torch.distributed.launch", Start::kOnEachNode, kTorchrun},
    {"torch_npu_run", "torch_npu.distributed.run", Start::kOnEachNode,
     "torch_npu_run --nnodes {nnodes} --nproc_per_node {nproc_per_node} --node_rank {node_rank} --master_addr "
     "{master_addr} --master_port {master_port}"},
    {"msrun", "mindspore.parallel.cluster.run", Start::kOnEachNode,
     "msrun --worker_num {world_size} --local_worker_num {nproc_per_node} --node_rank {node_rank} --master_addr "
     "{master_addr} --master_port {master_port}"},
    {"accelerate launch", "accelerate.commands.launch", Start::kOnEachNode,
     "accelerate launch --num_machines {nnodes} --num_processes {world_size} --machine_rank {node_rank} "
     "--main_process_ip {master_addr} --main_process_port {master_port}"},
    {"deepspeed", "deepspeed.launcher.runner", Start::kOnce, "deepspeed"},
    {"horovodrun", "horovod.runner.launch", Start::kOnce, "horovodrun -np {world_size}"},
    {"mpirun", nullptr, Start::kOnceForMpi, "mpirun -np {world_size}"},
    {"mpiexec", nullptr, Start::kOnceForMpi, "mpiexec -n {world_size}"},
    {"mpiexec.hydra", nullptr, Start::kOnceForMpi, "mpiexec.hydra -n {world_size}"},
    {"orterun", nullptr, Start::kOnceForMpi, "orterun -np {world_size}"},
    {"prterun", nullptr, Start::kOnceForMpi, "prterun -np {world_size}"},
    {"srun", nullptr, Start::kOnceForMpi, "srun -n {world_size}"},
};

const Known* FindProgram(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return name == k.program; });
  return found == std::end(kKnown) ? nullptr : found;
}

const Known* FindModule(const std::string& name) {
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& k) { return k.module != nullptr && name == k.module; });
  return found == std::end(kKnown) ? nullptr : found;
}

const Known* KnownOf(const Words& words) {
  const std::string name = BaseName(words[0]);
  if (name == "accelerate") {
    return words.size() > 1 && words[1] == "launch" ? FindProgram("accelerate launch") : nullptr;
  }
  for (const char* suffix : {".openmpi", ".mpich"}) {  // Debian's names for the MPI libraries' own programs
    if (absl::EndsWith(name, suffix)) return FindProgram(name.substr(0, name.rfind('.')));
  }
  if (!IsPython(name)) return FindProgram(name);
  const PythonTarget python = PythonTargetOf(words);
  if (python.runs == PythonTarget::Runs::kModule) return FindModule(python.name);
  if (python.runs != PythonTarget::Runs::kScript) return nullptr;
  Words script(words.begin() + static_cast<std::ptrdiff_t>(python.after) - 1, words.end());
  return IsPython(BaseName(script[0])) ? nullptr : KnownOf(script);
}

struct Found {
  const Known* known = nullptr;
  StartedProgram program;
};

std::optional<Found> FindLauncher(const Words& command) {
  for (StartedProgram& program : ProgramsOf(command)) {
    const Known* known = KnownOf(program.words);
    if (known == nullptr || (!program.script.empty() && IsOnlyAsked(program.words))) continue;
    return Found{known, std::move(program)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LauncherCommand> LauncherIn(const std::vector<std::string>& command) {
  std::optional<Found> found = FindLauncher(command);
  if (!found) return std::nullopt;
  return LauncherCommand{found->known->program, std::move(found->program.words), !found->program.script.empty()};
}

std::vector<std::vector<std::string>> TrainingPrograms(const std::vector<std::string>& command) {
  std::vector<Words> programs;
  bool has_launcher = false;
  bool is_of_exec = false;
  for (StartedProgram& program : ProgramsOf(command)) {
    if (is_of_exec && !program.is_exec) continue;
    if (program.is_exec && program.words[0] == "exec") {  // the script ends here
      programs.clear();
      has_launcher = false;
      is_of_exec = true;
    } else if (KnownOf(program.words) != nullptr) {
      has_launcher |= program.script.empty() || !IsOnlyAsked(program.words);
    } else if (program.is_last) {
      programs.push_back(std::move(program.words));
    }
  }
  if (has_launcher) programs.clear();
  return programs;
}

bool BringsTorchStore(const std::vector<std::string>& command) {
  const std::optional<LauncherCommand> launcher = LauncherIn(command);
  return launcher &&
         (launcher->name == "torchrun" || launcher->name == "torch_npu_run" || launcher->name == "accelerate launch");
}

void CheckLauncher(const std::vector<std::string>& command, uint32_t slots, SettingsFindings& findings) {
  const std::optional<Found> found = FindLauncher(command);
  if (!found) return;
  const Known& known = *found->known;
  const std::string name = known.program;
  const bool is_on_each_node = known.start == Start::kOnEachNode;
  const bool is_in_script = !found->program.script.empty();
  const std::string how =
      absl::StrCat("ms-worker starts the processes itself, so leave ", name, " out",
                   known.start == Start::kOnceForMpi ? ", unless the program itself uses MPI" : "",
                   "; or have it started once ", is_on_each_node ? "on each node" : "on the first node", ": ms-worker ",
                   is_on_each_node ? "--per_node" : "--per_job",
                   slots > 1 ? absl::StrCat(" --local_worker_num ", slots) : "", " … -- ", known.usage, " …");
  const std::string where =
      is_in_script ? absl::StrCat(" (line ", found->program.line, " of ", found->program.script, ")") : "";
  if (slots > 1) {
    (is_in_script ? findings.warnings : findings.errors)
        .push_back(absl::StrCat("the command is ", name, where, ", and would be started ", slots,
                                " times here, each a training of its own; ", how));
  } else {
    findings.warnings.push_back(
        absl::StrCat("the command is ", name, where, ", and is started once for each process of the job; ", how));
  }
}

}  // namespace muster::agent
