// The result of CheckReach for `--per_job -- LAUNCHER …` without --allow_exec; the first row that fits applies:
//
//   the case                                                  the result
//   one node, or a number of nodes that is not known          nothing
//   srun, or a variable shows a batch system or the user's    nothing: the launcher then needs no ssh
//     own launch agent (kOtherWays)
//   it names other hosts, and ssh and rsh are not in PATH     an error; in a script a warning
//   otherwise                                                 a warning: it needs sshd and keys on every node
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "worker_agent/launch/command/command_check.h"
#include "worker_agent/launch/command/launchers.h"

namespace muster::agent {
namespace {

constexpr std::string_view kOnceForAll[] = {"mpirun",  "mpiexec",    "mpiexec.hydra", "orterun",
                                            "prterun", "horovodrun", "deepspeed"};
constexpr std::string_view kHostOptions[] = {"-H", "-host", "--host", "-hosts", "--hosts"};
constexpr std::string_view kHostFileOptions[] = {"--hostfile",    "-hostfile",   "-machinefile",
                                                 "--machinefile", "--host-file", "-f"};
// With one of these variables launchers use the batch system, or the program that the user names, instead of ssh.
constexpr const char* kOtherWays[] = {"SLURM_JOB_ID",   "SLURM_JOBID",         "PBS_JOBID",
                                      "LSB_JOBID",      "OMPI_MCA_plm",        "OMPI_MCA_plm_rsh_agent",
                                      "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC", "PRTE_MCA_plm_ssh_agent"};
constexpr std::string_view kOtherWords[] = {
    "plm", "plm_rsh_agent", "plm_ssh_agent", "-launcher", "-launcher-exec", "-bootstrap", "-bootstrap-exec"};

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// True if a list of hosts, such as a,b:4, names several hosts, so that at least one is another machine.
bool AreSeveralHosts(const std::string& list) {
  std::set<std::string> hosts;
  for (const absl::string_view host : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    hosts.insert(std::string(host.substr(0, host.find(':'))));
  }
  return hosts.size() > 1;
}

bool NamesOtherHosts(const std::vector<std::string>& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (IsOneOf(kHostFileOptions, words[i])) return true;
    if (IsOneOf(kHostOptions, words[i]) && AreSeveralHosts(words[i + 1])) return true;
  }
  return false;
}

bool HasSsh(const std::map<std::string, std::string>& environment) {
  const auto path = environment.find("PATH");
  if (path == environment.end()) return true;  // PATH is not known
  for (const absl::string_view folder : absl::StrSplit(path->second, ':', absl::SkipEmpty())) {
    for (const char* name : {"/ssh", "/rsh"}) {
      if (::access(absl::StrCat(folder, name).c_str(), X_OK) == 0) return true;
    }
  }
  return false;
}

}  // namespace

void CheckReach(const std::vector<std::string>& command, uint32_t nodes,
                const std::map<std::string, std::string>& environment, SettingsFindings& findings) {
  const std::optional<LauncherCommand> launcher = LauncherIn(command);
  if (nodes < 2 || !launcher || !IsOneOf(kOnceForAll, launcher->name)) return;
  const std::vector<std::string>& words = launcher->words;
  const bool has_other_way =
      std::any_of(std::begin(kOtherWays), std::end(kOtherWays),
                  [&](const char* name) { return environment.count(name) != 0; }) ||
      std::any_of(words.begin(), words.end(), [](const std::string& word) { return IsOneOf(kOtherWords, word); });
  if (has_other_way) return;
  const std::string remedy = absl::StrCat("; add --allow_exec (with --tls_config) on every node, and ", launcher->name,
                                          " reaches them through their agents");
  if (!launcher->is_in_script && NamesOtherHosts(words) && !HasSsh(environment)) {
    findings.errors.push_back(absl::StrCat("the command is ", launcher->name,
                                           ", which starts programs on other nodes by ssh, but ssh is not in PATH here",
                                           remedy));
  } else {
    findings.warnings.push_back(absl::StrCat(
        "the command is ", launcher->name, ", and is started on the first of ", nodes,
        " nodes: without --allow_exec it starts nothing on the others, unless sshd and keys are set up there", remedy));
  }
}

}  // namespace muster::agent
