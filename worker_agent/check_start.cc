// Each row of the report is one check. A check that can't be made is "not_checked", which is no error.
//
//   row                        made by
//   settings                   the settings have been checked before; their warnings are rows
//   command                    SettleCommand
//   name, tcp, tls, udp, …     ms-ctl ping, with this agent's settings for the way to the scheduler
//   devices                    TakeNodeDevices
//   clock, space, memory, …    FindingsOfHost, as --preflight host
//   node_check                 the command of --node_check
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/command/python_target.h"
#include "common/hosts/compare.h"
#include "common/sys/child/bounded_command.h"
#include "common/sys/log.h"
#include "nlohmann/json.hpp"
#include "worker_agent/node/node_description.h"
#include "worker_agent/node/node_devices.h"
#include "worker_agent/node/own_scheduler.h"
#include "worker_agent/preflight/node_check.h"
#include "worker_agent/preflight/preflight.h"
#include "worker_agent/startup.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kPingLimit = absl::Seconds(60);
constexpr size_t kMaxPingBytes = 64 * 1024;
constexpr char kOk[] = "ok";
constexpr char kWarning[] = "warning";
constexpr char kError[] = "error";
constexpr char kNotChecked[] = "not_checked";

class CheckReport {
 public:
  void Add(const std::string& check, const std::string& level, const std::string& text,
           const std::string& remedy = "") {
    std::printf("%s\n", absl::StrFormat("%-17s %-11s %s", check, level, EscapeControl(text)).c_str());
    if (!remedy.empty()) std::printf("%s\n", absl::StrFormat("%-29s %s", "", EscapeControl(remedy)).c_str());
    std::fflush(stdout);
    errors_ += level == kError ? 1 : 0;
  }
  // Splits "what is wrong; what to do".
  void AddMessage(const std::string& check, const std::string& level, const std::string& message) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(message, absl::MaxSplits("; ", 1));
    Add(check, level, parts.first, parts.second);
  }
  int errors() const { return errors_; }

 private:
  int errors_ = 0;
};

void CheckCommand(AgentSettings& settings, const std::map<std::string, std::string>& environment, CheckReport& report) {
  if (settings.command.empty()) return;
  if (const auto problem = SettleCommand(settings, environment)) {
    return report.AddMessage("command", kError, problem->text);
  }
  if (IsPython(BaseName(settings.command.front()))) {
    const PythonTarget target = PythonTargetOf(settings.command);
    const bool is_file = target.runs == PythonTarget::Runs::kScript && !NamesInput(target.name);
    // A name with a placeholder ({rank}) is not the file's.
    if (is_file && !absl::StrContains(target.name, '{') && access(target.name.c_str(), R_OK) != 0) {
      return report.Add("command", kError, absl::StrCat("the script ", target.name, ": ", std::strerror(errno)),
                        "correct its path, or copy it to this node");
    }
  }
  report.Add("command", kOk, absl::StrCat(settings.command.front(), " can be started"));
}

std::vector<std::string> PingWords(const AgentSettings& settings, const std::string& ms_ctl) {
  std::vector<std::string> words = {ms_ctl,
                                    "ping",
                                    "--json",
                                    "--sched_host",
                                    settings.sched_host,
                                    "--sched_port",
                                    absl::StrCat(settings.sched_port),
                                    "--job",
                                    settings.job_id};
  if (settings.tls.is_on()) {
    for (const std::string& word : {std::string("--tls_config"), settings.tls.config, std::string("--tls_identity"),
                                    settings.tls.identity, std::string("--crl_expired"), settings.tls.crl_expired}) {
      words.push_back(word);
    }
  }
  if (settings.tls.allow_readable_keys) words.emplace_back("--tls_allow_readable_keys");
  if (settings.tls.require_tls) words.emplace_back("--require_tls");
  return words;
}

void CheckWayToScheduler(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                         const std::string& ms_ctl, CheckReport& report) {
  if (settings.standalone) return report.Add("scheduler", kOk, "this agent starts it (--standalone)");
  BoundedCommand ping;
  ping.argv = PingWords(settings, ms_ctl);
  for (const auto& [name, value] : environment) ping.env.push_back(absl::StrCat(name, "=", value));
  ping.max_output_bytes = kMaxPingBytes;
  ping.deadline = Clock::System().Read().monotonic + kPingLimit;
  const CommandResult result = RunBounded(ping, Clock::System());
  const auto parsed = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  const auto checks = parsed.is_object() ? parsed.find("checks") : parsed.end();
  if (!parsed.is_object() || checks == parsed.end() || !checks->is_array()) {
    const std::string said = result.errors.empty() ? "it gave no result" : result.errors.substr(0, 300);
    return report.Add("scheduler", kError, absl::StrCat("ms-ctl ping failed: ", said));
  }
  const auto text_of = [](const nlohmann::json& check, const char* key) {
    const auto found = check.find(key);
    return found != check.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const nlohmann::json& check : *checks) {
    if (!check.is_object()) continue;
    // With --with_scheduler the node that has the address starts the scheduler, so nothing need listen yet.
    const bool may_be_missing = settings.with_scheduler && text_of(check, "check") == "tcp";
    const std::string level = text_of(check, "level");
    report.Add(text_of(check, "check"), may_be_missing && level == kError ? kNotChecked : level, text_of(check, "text"),
               text_of(check, "remedy"));
  }
}

void CheckDevicesAndHost(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                         CheckReport& report) {
  const absl::StatusOr<NodeDevices> devices = TakeNodeDevices(settings, environment);
  if (!devices.ok()) return report.AddMessage("devices", kError, std::string(devices.status().message()));
  v1::NodeInfo node;
  for (uint32_t slot = 0; slot < SlotCount(settings, environment); ++slot) node.add_slots();
  uint32_t master_port = 0;
  if (absl::SimpleAtoi(settings.master_port, &master_port)) node.set_wanted_master_port(master_port);
  for (const v1::HostFinding& finding : FindingsOfHost(settings, environment, *devices, settings.worker_ip, node)) {
    report.Add(finding.check(), LevelWord(finding.level()), finding.text(), finding.remedy());
  }
}

void CheckByCommand(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                    CheckReport& report) {
  if (!ChecksNode(settings)) return;
  const NodeCheck check = MakeNodeCheck(settings.node_check, environment, settings.node_check_timeout);
  const NodeCheckResult result = RunNodeCheck(check, -1, Clock::System());
  if (!result.status.ok()) return report.Add("node_check", kError, std::string(result.status.message()));
  report.Add("node_check", kOk, result.last_line.empty() ? "ended with 0" : result.last_line);
}

}  // namespace

int CheckStart(AgentSettings settings, const std::map<std::string, std::string>& environment,
               const std::vector<std::string>& warnings) {
  CheckReport report;
  report.Add("settings", kOk, "they fit together (--check_config shows them)");
  for (const std::string& warning : warnings) report.AddMessage("settings", kWarning, warning);
  CheckCommand(settings, environment, report);
  CheckWayToScheduler(settings, environment, (std::filesystem::path(OwnProgram()).parent_path() / "ms-ctl").string(),
                      report);
  CheckDevicesAndHost(settings, environment, report);
  CheckByCommand(settings, environment, report);
  return report.errors() == 0 ? kExitSuccess : kExitJobFailed;
}

}  // namespace muster::agent
