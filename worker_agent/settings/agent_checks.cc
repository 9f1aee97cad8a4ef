// Finds settings that contradict each other, have no effect, or are probably a mistake.
#include <algorithm>
#include <csignal>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/net/ip_address.h"
#include "common/net/net.h"
#include "worker_agent/settings/agent_settings.h"
#include "worker_agent/settings/hccl_settings.h"
#include "worker_agent/settings/torchrun_words.h"

namespace muster::agent {
namespace {

// Returns the number of slots; 0 for auto, when it is not known yet.
uint32_t Slots(const AgentSettings& s) {
  uint32_t slots = 0;
  return absl::SimpleAtoi(s.local_worker_num, &slots) ? slots : 0;
}

bool IsHere(const std::string& host) {
  if (host == "localhost" || host == LocalHostName()) return true;
  const auto address = IpAddress::Parse(host);
  return address && IsLocalAddress(*address);
}

void CheckNumbers(const AgentSettings& s, SettingsFindings& findings) {
  const bool is_server = s.role == "MS_PSERVER";
  const auto& total = is_server ? s.server_num : s.worker_num;
  const std::string name = is_server ? "server_num (MS_SERVER_NUM)" : "worker_num (MS_WORKER_NUM)";
  const uint32_t slots = Slots(s);
  if (total && slots > *total) {
    findings.errors.push_back(
        absl::StrCat("local_worker_num is ", slots, ", but ", name, ", which counts the processes of all nodes, is ",
                     *total, "; lower --local_worker_num or raise ", is_server ? "MS_SERVER_NUM" : "MS_WORKER_NUM"));
  }
  if (s.standalone && !is_server && total && slots != 0 && slots < *total) {
    findings.errors.push_back(absl::StrCat(
        "with --standalone all workers run on this machine, but local_worker_num is ", slots, " and ", name, " is ",
        *total, "; set --local_worker_num ", *total, " or leave --worker_num (MS_WORKER_NUM) out"));
  }
  const std::optional<NumberRange>& range = s.port_range;
  const bool needs_gateway = s.mindspore_gateway == "on";
  const uint32_t needed = std::max(slots, 1U) * (needs_gateway ? 2 : 1) + 1;
  if (range && range->high - range->low + 1 < needed) {
    findings.errors.push_back(absl::StrCat("port_range ", range->low, "-", range->high, " has ",
                                           range->high - range->low + 1, " ports, but ", needed, " are needed (",
                                           needs_gateway ? "two" : "one", " for each of ", std::max(slots, 1U),
                                           " slots and one for MASTER_PORT); widen --port_range"));
  }
}

// Warns of settings that are allowed but probably a mistake.
void CheckDoubtful(const AgentSettings& s, SettingsFindings& findings) {
  const auto address = IpAddress::Parse(s.worker_ip);
  if (address && !IsLocalAddress(*address)) {
    findings.warnings.push_back(
        absl::StrCat("worker_ip (MS_WORKER_IP) is ", s.worker_ip,
                     ", which is no address of this machine, but the other nodes will use it to reach this one; "
                     "correct it or leave it out, unless that address is forwarded to this machine"));
  }
  const bool is_server = s.role == "MS_PSERVER";
  const auto& total = is_server ? s.server_num : s.worker_num;
  if (s.tail && total) {
    const auto beyond = std::find_if(s.tail->begin(), s.tail->end(), [&](const NumberRange& range) {
      return range.high >= *total && range != kAllRanks;
    });
    if (beyond != s.tail->end()) {
      findings.warnings.push_back(absl::StrCat("tail names rank ", beyond->high, ", but ",
                                               is_server ? "MS_SERVER_NUM" : "MS_WORKER_NUM", " is ", *total,
                                               ", so ranks end at ", int64_t{*total} - 1, "; correct --tail"));
    }
  }
  // Local ranks count over all agents of a machine. So only with --standalone do this agent's own slots show the
  // highest local rank.
  const std::optional<uint32_t> most = total || !s.standalone ? total : Slots(s);
  const auto& bound = s.bind_core.cpus;
  if (most.value_or(0) != 0 && !bound.empty() && bound.rbegin()->first >= *most) {
    findings.warnings.push_back(absl::StrCat("bind_core names local rank ", bound.rbegin()->first, ", but there are ",
                                             *most, " ranks in all (", is_server ? "MS_SERVER_NUM" : "MS_WORKER_NUM",
                                             "), so local ranks end at ", *most - 1, "; correct --bind_core"));
  }
  if (s.stop_signal == SIGKILL) {
    findings.warnings.push_back(
        "stop_signal is KILL, which leaves the processes no time to save a checkpoint; leave --stop_signal out (TERM), "
        "and lower --stop_timeout where stopping takes too long");
  }
}

}  // namespace

namespace {

void CheckOutputRules(const AgentSettings& s, SettingsFindings& findings) {
  const auto rules = OutputRules::Compile(s.output_rules);
  if (!rules.ok()) findings.errors.push_back(std::string(rules.status().message()));
}

void CheckExec(const AgentSettings& s, SettingsFindings& findings) {
  if (!s.allows_exec) return;
  if (!s.per_job) {
    findings.errors.push_back(
        "allow_exec: it is for a command that is started once for the job; add --per_job, or leave --allow_exec out");
  }
  if (s.role != "MS_WORKER") {
    findings.errors.push_back("allow_exec: parameter servers take no remote commands; leave it out");
  }
  if (!s.tls.is_on() && !s.allows_plain_exec) {
    findings.errors.push_back(
        "allow_exec: without TLS, any program that reaches this agent's port could run commands as you; set "
        "--tls_config (MS_TLS_CONFIG), or --allow_exec=insecure in a network that is closed to others");
  }
  if (!s.tls.is_on() && s.allows_plain_exec) {
    findings.warnings.push_back(
        "allow_exec=insecure: without TLS, any program that listens in the network can run commands as you; set "
        "--tls_config (MS_TLS_CONFIG)");
  }
}

}  // namespace

bool IsMpiNamed(const AgentSettings& settings) { return settings.mpi != "auto" && settings.mpi != "none"; }

bool IsJaxNamed(const AgentSettings& settings) { return settings.jax == "on" || settings.jax == "auto-detect"; }

bool ChecksHost(const AgentSettings& settings) { return absl::StartsWith(settings.preflight, "host"); }

bool ChecksRing(const AgentSettings& settings) { return absl::EndsWith(settings.preflight, "ring"); }

bool ChecksNode(const AgentSettings& settings) { return absl::StrContains(settings.preflight, "command"); }

namespace {

// Checks settings of frameworks for which the agent is the rendezvous. Each of their ranks must be a process of this
// job, and all ranks must start together.
void CheckFrameworks(const AgentSettings& s, SettingsFindings& findings) {
  if (s.jax == "auto-detect" && (IsMpiNamed(s) || s.horovod == "mpi")) {
    findings.errors.push_back(
        "jax: auto-detect sets variables of Open MPI for the processes, which mislead a real MPI; leave it out, and "
        "give initialize() the numbers of JAX_NUM_PROCESSES and JAX_PROCESS_ID");
  }
  struct Framework {
    const char* setting;
    const char* name;
    bool is_named;
  };
  for (const Framework& framework : {Framework{"mpi", "an MPI", IsMpiNamed(s)},
                                     Framework{"horovod", "a Horovod", s.horovod == "gloo" || s.horovod == "mpi"},
                                     Framework{"jax", "a JAX", IsJaxNamed(s)}}) {
    if (!framework.is_named) continue;
    if (s.per_node || s.per_job) {
      findings.errors.push_back(absl::StrCat(framework.setting, ": each rank of ", framework.name,
                                             " job needs a process of its own, but per_node and per_job start one for "
                                             "several ranks; leave out either this setting or those two"));
    }
    if (s.restart_scope.value_or("job") != "job") {
      findings.errors.push_back(
          absl::StrCat(framework.setting, ": the ranks of ", framework.name,
                       " job can only start again together; leave --restart_scope out, or set it to job"));
    }
  }
}

void CheckNodeCheck(const AgentSettings& s, SettingsFindings& findings) {
  if (ChecksNode(s) && s.node_check.empty()) {
    findings.errors.push_back(
        "preflight: command needs --node_check COMMAND; add it, or leave command out of --preflight");
  }
  if (ChecksNode(s)) return;
  const char* name = !s.node_check.empty()                                  ? "node_check"
                     : s.excludes_stragglers                                ? "exclude_stragglers"
                     : s.straggler_ratio != AgentSettings{}.straggler_ratio ? "straggler_ratio"
                                                                            : "";
  if (*name == '\0') return;
  findings.warnings.push_back(
      absl::StrCat(name, " has no effect without --preflight command; add that, or leave --", name, " out"));
}

}  // namespace

SettingsFindings CheckAgentSettings(const AgentSettings& s) {
  SettingsFindings findings;
  CheckOutputRules(s, findings);
  const bool is_scheduler = s.role == "MS_SCHED";
  if (is_scheduler) return findings;  // ms-scheduler will check them
  CheckNumbers(s, findings);
  CheckDoubtful(s, findings);
  CheckHccl(s, findings);
  CheckTorchrunsWords(s, findings);
  CheckExec(s, findings);
  if (s.per_node && s.per_job) {
    findings.errors.push_back("per_node and per_job contradict each other; leave one of them out");
  }
  if (!s.leftover.empty() && !s.per_node && !s.per_job) {
    findings.warnings.push_back(
        "leftover has no effect without --per_node or --per_job: background processes of a slot's process "
        "are always ended; leave it out");
  }
  if (ChecksRing(s) && (s.per_node || s.per_job)) {
    findings.errors.push_back(
        "preflight: the ring needs a process for each rank, but per_node and per_job start one for several ranks; "
        "leave out either the ring or those two");
  }
  CheckFrameworks(s, findings);
  if (ChecksRing(s) && s.command.empty()) {
    findings.errors.push_back(
        "preflight: there is no command to check the ring for; add a command, or leave the ring out");
  }
  if (!ChecksHost(s) && s.preflight_fatal != "error") {
    findings.warnings.push_back(
        "preflight_fatal has no effect without --preflight host; add that, or leave --preflight_fatal out");
  }
  CheckNodeCheck(s, findings);
  if (!s.rank_table_file.empty() && !s.devices.empty() && s.devices != "none") {
    findings.errors.push_back(
        "devices: the rank table (rank_table_file, RANK_TABLE_FILE) says which devices the processes get; leave "
        "--devices (MS_DEVICES) out, or the table");
  }
  if (s.standalone && !IsHere(s.sched_host)) {
    findings.errors.push_back(
        absl::StrCat("with --standalone the scheduler is on this machine, but sched_host "
                     "(MS_SCHED_HOST) is ",
                     s.sched_host, "; leave one of --sched_host (MS_SCHED_HOST) and --standalone out"));
  }
  if (s.spare && !s.enable_recovery.value_or(false)) {
    findings.warnings.push_back(
        "spare: a spare takes over only with recovery, and that is not switched on here; set MS_ENABLE_RECOVERY=1");
  }
  if (!s.enable_recovery.value_or(true) && s.max_restarts.value_or(0) > 0) {
    findings.warnings.push_back(
        "max_restarts has no effect with MS_ENABLE_RECOVERY=0; set MS_ENABLE_RECOVERY=1 or leave it out");
  }
  if (!s.scheduler_flags.empty() && !s.with_scheduler && !s.standalone) {
    findings.warnings.push_back(absl::StrCat(absl::StrJoin(s.scheduler_flags, " "),
                                             " is for ms-scheduler and has no effect on ms-worker; give it to "
                                             "ms-scheduler, or add --with_scheduler"));
  }
  findings.warnings.insert(findings.warnings.end(), s.remarks.begin(), s.remarks.end());
  return findings;
}

}  // namespace muster::agent
