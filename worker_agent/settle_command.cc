#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/fence_times.h"
#include "common/net/net.h"
#include "common/sys/log.h"
#include "worker_agent/ascend/chief.h"
#include "worker_agent/keeper/files/run_logs.h"
#include "worker_agent/launch/command/command_check.h"
#include "worker_agent/launch/command/launchers.h"
#include "worker_agent/node/node_description.h"
#include "worker_agent/platform/platform.h"
#include "worker_agent/preflight/endpoints.h"
#include "worker_agent/runtime/launcher.h"
#include "worker_agent/session/session.h"
#include "worker_agent/settings/surroundings.h"
#include "worker_agent/startup.h"

namespace muster::agent {

namespace {

void TakeSize(AgentSettings& settings, LoadResult& loaded) {
  const AgentSettings before = settings;
  const absl::Status sized = TakeSizeOfRankTable(settings, loaded.sources["local_worker_num"] != "default");
  if (!sized.ok()) loaded.findings.errors.emplace_back(sized.message());
  if (settings.worker_num != before.worker_num) loaded.sources["worker_num"] = "rank table";
  if (settings.local_worker_num != before.local_worker_num) loaded.sources["local_worker_num"] = "rank table";
}

// With --standalone, drops an inherited MASTER_ADDR that is not this machine's: it belongs to another job, as in a pod
// of Kubeflow's PyTorchJob.
void DropForeignMaster(std::map<std::string, std::string>& environment, AgentSettings& settings, LoadResult& loaded) {
  if (!settings.standalone || loaded.sources["torch_master_addr"] != "MASTER_ADDR") return;
  const auto addresses = ResolveHost(settings.master_addr);
  if (addresses.ok() && std::any_of(addresses->begin(), addresses->end(), IsLocalAddress)) return;
  const std::string why = addresses.ok() ? absl::StrCat(settings.master_addr, " is no address of this machine")
                                         : std::string(addresses.status().message());
  loaded.findings.warnings.push_back(absl::StrCat("MASTER_ADDR and MASTER_PORT of the environment are not used: ", why,
                                                  "; --standalone starts all processes on this machine"));
  settings.master_addr.clear();
  loaded.sources["torch_master_addr"] = "default";
  if (loaded.sources["torch_master_port"] == "MASTER_PORT") {
    settings.master_port.clear();
    loaded.sources["torch_master_port"] = "default";
  }
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) environment.erase(name);
}

}  // namespace

void TakeMore(const SettingsTable& table, std::map<std::string, std::string>& environment, AgentSettings& settings,
              LoadResult& loaded) {
  if (loaded.findings.errors.empty() && settings.standalone && !settings.from.empty()) {
    loaded.findings.errors.emplace_back("from and standalone contradict each other; leave one of them out");
  } else if (loaded.findings.errors.empty() && !settings.from.empty()) {
    settings.from_lines =
        TakeFromPlatform(ReadPlatform(settings.from, environment), table,
                         {settings.with_scheduler, [&] { return SlotCount(settings, environment); }}, loaded);
  }
  // A port counts only if it was given on the command line: one from a file or variable is the cluster's scheduler's.
  if (settings.standalone && !absl::StartsWith(loaded.sources["sched_port"], "--")) settings.sched_port = 0;
  if (loaded.findings.errors.empty()) DropForeignMaster(environment, settings, loaded);
  settings.names_no_scheduler = loaded.sources["sched_host"] == "default";
  if (loaded.findings.errors.empty()) TakeSize(settings, loaded);
}

namespace {

void CheckThereIsACommand(const AgentSettings& settings, SettingsFindings& findings) {
  if (settings.prints_assignment && !settings.command.empty()) {
    findings.errors.push_back("print_assignment starts nothing, so it contradicts a command; leave one of them out");
  }
  if (settings.prints_assignment || !settings.command.empty() || settings.check_config || settings.checks_start) {
    return;
  }
  findings.errors.push_back(
      "there is no command to start; usage: ms-worker [settings] -- COMMAND [ARGUMENTS], as in `ms-worker --worker_num "
      "2 -- python3 train.py`. --print_assignment joins without a command and prints this node's ranks as JSON; "
      "--help-all shows all settings");
}

// Refuses a job id that is also the name of a file or link of Muster's in --log_dir, since the job's folder of logs
// gets that name.
void CheckLogFolder(const AgentSettings& settings, SettingsFindings& findings) {
  if (settings.log_dir.empty() || !IsTakenInBase(settings.job_id)) return;
  findings.errors.push_back(absl::StrCat("job_id (MS_JOB_ID) is ", settings.job_id,
                                         ", which is the name of a file or link of Muster's in --log_dir, where each "
                                         "job has a folder of its name; give the job another name"));
}

}  // namespace

SettingsFindings FindMore(const AgentSettings& settings, const std::map<std::string, std::string>& environment) {
  SettingsFindings findings = CheckAgentSettings(settings);
  CheckThereIsACommand(settings, findings);
  CheckLogFolder(settings, findings);
  const uint32_t slots = SlotCount(settings, environment);
  if (!settings.per_node && !settings.per_job) CheckLauncher(settings.command, slots, findings);
  if (!PassesOutput(settings, static_cast<int>(slots))) CheckScriptInput(settings.command, findings);
  if (settings.per_job && !settings.allows_exec && !settings.standalone && settings.worker_num && slots != 0) {
    CheckReach(settings.command, (*settings.worker_num + slots - 1) / slots, environment, findings);
  }
  for (std::string& warning : CheckOwnAddresses(settings, environment, IsLocalAddress)) {
    findings.warnings.push_back(std::move(warning));
  }
  const SettingsFindings of_hccl = CheckHcclVariables(settings, environment);
  findings.errors.insert(findings.errors.end(), of_hccl.errors.begin(), of_hccl.errors.end());
  findings.warnings.insert(findings.warnings.end(), of_hccl.warnings.begin(), of_hccl.warnings.end());
  const bool is_size_known = settings.worker_num || settings.standalone || !settings.rank_table_file.empty();
  if (settings.role == "MS_WORKER" && !is_size_known) {
    const std::string hint = SurroundingsHint(environment, slots);
    if (!hint.empty()) findings.warnings.push_back(hint);
  }
  return findings;
}

std::optional<CommandProblem> SettleCommand(AgentSettings& settings,
                                            const std::map<std::string, std::string>& environment) {
  for (const std::string& line : settings.from_lines) Log(Severity::kInfo, line);
  const std::vector<std::string> typed = settings.command;
  PythonCommand python;
  if (!settings.no_python) python = AddPython(settings.command, settings.env, environment, settings.python);
  if (!python.python.empty() && !python.problem) {
    Log(Severity::kInfo, absl::StrCat(typed[0] == "-m" && typed.size() > 1 ? absl::StrCat("-m ", typed[1]) : typed[0],
                                      " runs under ", python.python));
  }
  const auto problem = python.problem ? python.problem : CheckCommand(settings.command, settings.env, environment);
  // With --per_job the command runs on one node only, and which one is not known yet: other nodes may lack the program.
  return settings.per_job ? std::nullopt : problem;
}

absl::Duration RequestTimeout(const AgentSettings& settings) {
  return std::min(settings.receive_msg_timeout, SessionOptions().request_timeout);
}

std::vector<TimeoutStep> AgentTimeouts(const AgentSettings& settings) {
  std::vector<TimeoutStep> steps = {
      {"stop_timeout", settings.stop_timeout, "between stop_signal and SIGKILL"},
      {"fence_stop_timeout", FenceStopTimeout(settings.fence_stop_timeout, settings.stop_timeout),
       "the same when the fence ends processes"},
      {"receive_msg_timeout", RequestTimeout(settings), "for the answer to a request"},
      {"cluster_retry_num x 3 s", settings.cluster_retry_num * absl::Seconds(3), "trying to reach the scheduler"}};
  if (settings.topo_timeout) {
    steps.push_back({"topo_timeout", *settings.topo_timeout, "until all nodes have joined"});
  }
  return steps;
}

absl::Duration SignalPatience(const AgentSettings& settings) { return 2 * settings.stop_timeout + absl::Seconds(90); }

}  // namespace muster::agent
