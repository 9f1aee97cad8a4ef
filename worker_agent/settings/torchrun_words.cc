// Flags of torchrun, and their effect here:
//
//   --redirects 3 --log_dir D      a log file for each process, as with --log_dir D alone
//   --redirects 3                  an error: torchrun would use a temporary folder, which people don't find again
//   --tee 3                        shows all ranks live, as --tail all does; with --tail RANKS, only those
//   --redirects 0, --tee 0         none; this is torchrun's default
//   1, 2, 0:1,1:3                  an error: a process's stdout and stderr are not separated here
//   --no_python ./train.py         the file is started directly
#include "worker_agent/settings/torchrun_words.h"

#include "absl/status/status.h"
#include "common/settings/cluster_settings.h"

namespace muster::agent {
namespace {

absl::Status CheckStreams(const std::string& text) {
  if (text == "0" || text == "3") return absl::OkStatus();
  return absl::InvalidArgumentError(
      "must be 3 (both streams of all processes) or 0 (none): stdout and stderr of a process stay together here; to "
      "see only some ranks, write --tail RANKS");
}

}  // namespace

void AddPythonWords(SettingsTable& table, AgentSettings& settings) {
  table.AddString("python", &settings.python, "Python that runs a .py file or -m MODULE.")
      .Value("PATH")
      .Default("that of python -m muster run, else the first in PATH")
      .Env({"MS_PYTHON"});
  table.AddBool("no_python", &settings.no_python, "Starts a .py file directly, not with python, as in torchrun.");
}

void AddTorchrunsOutput(SettingsTable& table, AgentSettings& settings) {
  AddCheckedText(table, "redirects", &settings.redirects, CheckStreams,
                 "For torchrun's command lines: 3 asks for log files, which --log_dir alone writes, too.")
      .Value("3|0");
  AddCheckedText(table, "tee", &settings.tee, CheckStreams,
                 "For torchrun's command lines: 3 shows the output of all ranks live, as --tail all does.")
      .Value("3|0");
}

void CheckTorchrunsWords(const AgentSettings& settings, SettingsFindings& findings) {
  if (settings.redirects == "3" && settings.log_dir.empty()) {
    findings.errors.push_back("redirects is 3, but there is no folder for the files; add --log_dir FOLDER");
  }
  if (settings.no_python && !settings.command.empty() && settings.command[0] == "-m") {
    findings.errors.push_back(
        "no_python and -m contradict each other, since a module runs under python; leave one of them out");
  }
  if (settings.max_restarts.value_or(0) > 0 && !settings.enable_recovery) {
    findings.warnings.push_back(
        "max_restarts: processes are restarted only with recovery, and that is not switched on here; add "
        "--enable_recovery (MS_ENABLE_RECOVERY=1)");
  }
  if (settings.tf_config && settings.per_job) {
    findings.errors.push_back(
        "tf_config: TF_CONFIG names processes on each node, and per_job starts one only; leave one of them out");
  }
}

}  // namespace muster::agent
