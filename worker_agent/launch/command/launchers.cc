// The command's words → the launcher:
//
//   torchrun, mpirun, msrun, srun, … (also by path)           that one
//   python [options] -m torch.distributed.run|launch, …       that one
//   python [options] /usr/bin/torchrun                        that one
//   accelerate launch                                         accelerate launch; another word behind it: none
//   env A=1 …, nice -n 5 …, nohup …, taskset 3 …, numactl …   what stands behind
//   bash -c "torchrun …", sh -c …                             its first word
#include "worker_agent/launch/command/launchers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_io.h"
#include "worker_agent/launch/command/python_module.h"

namespace muster::agent {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kMostShellScript = size_t{64} << 10;
constexpr int kMostLayers = 4;  // of bash -c "env … bash -c …"

// How it is started once, and what it is told; {…} are Muster's placeholders.
enum class Start { kOnEachNode, kOnce, kOnceForMpi };

struct Known {
  const char* program;
  const char* module;  // for python -m; null: none
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

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

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

bool IsShell(const std::string& name) { return name == "sh" || name == "bash" || name == "dash" || name == "zsh"; }

// A program that starts the one behind it, its options that take a word of their own, and the words before the program.
struct Wrapper {
  const char* name;
  const char* with_value;
  int words = 0;
};
constexpr Wrapper kWrappers[] = {{"env", "uCS"},         {"nice", "n"},      {"nohup", ""},      {"exec", "a"},
                                 {"setsid", ""},         {"stdbuf", "ioe"},  {"time", "fo"},     {"ionice", "cn"},
                                 {"command", ""},        {"taskset", "", 1}, {"chrt", "TPD", 1}, {"timeout", "ks", 1},
                                 {"numactl", "mNCpiPlw"}};
constexpr const char* kLongWithValue[] = {"--membind",   "--cpunodebind", "--physcpubind", "--interleave",
                                          "--preferred", "--unset",       "--chdir",       "--adjustment",
                                          "--signal",    "--kill-after"};

const Known* FindKnown(const Words& words, int depth);

const Known* FindUnderPython(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-m") return i + 1 < words.size() ? FindModule(words[i + 1]) : nullptr;
    if (word == "-X" || word == "-W") {
      ++i;
    } else if (word == "-c" || word == "-") {
      return nullptr;
    } else if (!absl::StartsWith(word, "-")) {
      return FindKnown({words.begin() + static_cast<std::ptrdiff_t>(i), words.end()}, kMostLayers);
    }
  }
  return nullptr;
}

Words WordsBehind(const Wrapper& wrapper, const Words& words) {
  size_t i = 1;
  for (; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_assignment = absl::StrContains(word, "=") && std::string_view(wrapper.name) == "env";
    const bool is_option = absl::StartsWith(word, "-");
    if (!is_assignment && !is_option) break;
    if (word.size() == 2 && is_option && std::string_view(wrapper.with_value).find(word[1]) != std::string_view::npos) {
      ++i;
    }
    if (std::find(std::begin(kLongWithValue), std::end(kLongWithValue), word) != std::end(kLongWithValue)) ++i;
  }
  i += static_cast<size_t>(wrapper.words);
  if (i >= words.size()) return {};
  return {words.begin() + static_cast<std::ptrdiff_t>(i), words.end()};
}

Words WordsOfLine(const std::string& line) {
  return absl::StrSplit(line.substr(0, line.find_first_of(";&|\n")), absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// bash -c "torchrun …": no more of the script is looked at than what begins it.
Words WordsInShell(const Words& words) {
  for (size_t i = 1; i + 1 < words.size() && absl::StartsWith(words[i], "-"); ++i) {
    const bool is_script = !absl::StartsWith(words[i], "--") && absl::EndsWith(words[i], "c");
    if (!is_script) continue;
    return WordsOfLine(words[i + 1]);
  }
  return {};
}

// What the program that words[0] is starts in its place or for itself; empty: nothing that could be told.
Words WordsUnder(const Words& words) {
  const std::string name = BaseName(words[0]);
  if (IsShell(name)) return WordsInShell(words);
  for (const Wrapper& wrapper : kWrappers) {
    if (name == wrapper.name) return WordsBehind(wrapper, words);
  }
  return {};
}

// The last line of a shell script that begins with exec, without it.
Words WordsOfScript(const Words& words) {
  const bool is_named = IsShell(BaseName(words[0]));
  if (is_named && (words.size() < 2 || absl::StartsWith(words[1], "-"))) return {};
  const absl::StatusOr<std::string> text = ReadSmallFile(words[is_named ? 1 : 0], kMostShellScript);
  if (!text.ok() || (!is_named && !absl::StartsWith(*text, "#!"))) return {};
  const Words first = WordsOfLine(text->substr(0, text->find('\n')));
  const bool is_shells = std::any_of(first.begin(), first.end(), [](const std::string& word) {
    return IsShell(BaseName(word)) || (absl::StartsWith(word, "#!") && IsShell(BaseName(word.substr(2))));
  });
  if (!is_named && !is_shells) return {};
  Words last;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const absl::string_view bare = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(bare, "exec ")) last = WordsOfLine(std::string(bare));
  }
  return last;
}

const Known* FindKnown(const Words& words, int depth) {
  if (words.empty() || depth > kMostLayers) return nullptr;
  const std::string name = BaseName(words[0]);
  if (name == "accelerate")
    return words.size() > 1 && words[1] == "launch" ? FindProgram("accelerate launch") : nullptr;
  if (const Known* known = FindProgram(name)) return known;
  if (IsPython(name)) return FindUnderPython(words);
  return FindKnown(WordsUnder(words), depth + 1);
}

}  // namespace

std::optional<std::string> LauncherOf(const std::vector<std::string>& command) {
  const Known* known = FindKnown(command, 0);
  if (known == nullptr) return std::nullopt;
  return known->program;
}

std::vector<std::string> ProgramBehind(std::vector<std::string> command) {
  for (int depth = 0; depth < kMostLayers && !command.empty(); ++depth) {
    Words under = WordsUnder(command);
    if (under.empty()) under = WordsOfScript(command);
    if (under.empty()) break;
    for (std::string& word : under) absl::StrReplaceAll({{"\"", ""}, {"'", ""}}, &word);
    command = std::move(under);
  }
  return command;
}

bool BringsTorchStore(const std::vector<std::string>& command) {
  const std::string launcher = LauncherOf(command).value_or("");
  return launcher == "torchrun" || launcher == "torch_npu_run" || launcher == "accelerate launch";
}

void CheckLauncher(const std::vector<std::string>& command, uint32_t slots, SettingsFindings& findings) {
  const Known* known = FindKnown(command, 0);
  if (known == nullptr) return;
  const std::string name = known->program;
  const bool is_on_each_node = known->start == Start::kOnEachNode;
  const std::string how =
      absl::StrCat("ms-worker starts the processes itself, so leave ", name, " out",
                   known->start == Start::kOnceForMpi ? ", unless the program itself uses MPI" : "",
                   "; or have it started once ", is_on_each_node ? "on each node" : "on the first node", ": ms-worker ",
                   is_on_each_node ? "--per_node" : "--per_job",
                   slots > 1 ? absl::StrCat(" --local_worker_num ", slots) : "", " … -- ", known->usage, " …");
  if (slots > 1) {
    findings.errors.push_back(absl::StrCat("the command is ", name, ", and would be started ", slots,
                                           " times here, for as many trainings side by side; ", how));
  } else {
    findings.warnings.push_back(
        absl::StrCat("the command is ", name, ", and is started once for each process of the job; ", how));
  }
}

}  // namespace muster::agent
