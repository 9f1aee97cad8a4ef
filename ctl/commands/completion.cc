// `ms-ctl completion`: prints the completion script. `ms-ctl completion jobs` and `nodes` print the words that the
// script asks for while the user types.
#include "ctl/commands/completion.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/exit_codes.h"
#include "common/base/ids.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/completion_tables.h"
#include "ctl/commands/handlers.h"
#include "scheduler/scheduler_settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::ctl {
namespace {

constexpr char kScript[] = R"sh(# bash completion for Muster's programs; load it with: source <(ms-ctl completion bash)
_ms_ctl_certs() {
  local i word=
  case $previous in
    --dir|--password_file|--config)
      COMPREPLY=( $(compgen -f -- "$current") )
      return ;;
    --host)
      COMPREPLY=( $(compgen -A hostname -- "$current") )
      return ;;
    --reason)
      COMPREPLY=( $(compgen -W "key-compromise superseded cessation" -- "$current") )
      return ;;
    --trust_domain|--id|--job|--name|--days|--list_days)
      return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=( $(compgen -W "@CERTS_FLAGS@" -- "$current") )
    return
  fi
  for (( i = $1 + 1; i < COMP_CWORD; i++ )); do
    case ${COMP_WORDS[i]} in
      --json|--help|--help-all|--version) ;;
      -*) (( i++ )) ;;
      *) word=${COMP_WORDS[i]}; break ;;
    esac
  done
  case $word in
    "") COMPREPLY=( $(compgen -W "@CERTS_COMMANDS@" -- "$current") ) ;;
    show) COMPREPLY=( $(compgen -f -- "$current") ) ;;
  esac
}
_ms_ctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous= command= i
  (( COMP_CWORD > 0 )) && previous=${COMP_WORDS[COMP_CWORD-1]}
  for (( i = 1; i < COMP_CWORD; i++ )); do
    case ${COMP_WORDS[i]} in
      --sched_host|--sched_port|--job|--run|--admin_socket|--timeout|--reason|--config|--check|--for|--hosts|--device_ips|--since|--lines|--output|-o)
        (( i++ )) ;;
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  if [[ $command == certs ]]; then
    _ms_ctl_certs $i
    return
  fi
  case $previous in
    --job)
      COMPREPLY=( $(compgen -W "$(ms-ctl completion jobs 2>/dev/null)" -- "$current") )
      return ;;
    --sched_host)
      COMPREPLY=( $(compgen -A hostname -- "$current") )
      return ;;
    --admin_socket|--config|--check|--output|-o)
      COMPREPLY=( $(compgen -f -- "$current") )
      return ;;
    --sched_port|--run|--timeout|--reason|--for|--hosts|--device_ips|--since|--lines)
      return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=( $(compgen -W "@FLAGS@" -- "$current") )
    return
  fi
  case $command in
    "") COMPREPLY=( $(compgen -W "@COMMANDS@" -- "$current") ) ;;
    @JOB_COMMANDS@) COMPREPLY=( $(compgen -W "$(ms-ctl completion jobs 2>/dev/null)" -- "$current") ) ;;
    fence|drain|undrain) COMPREPLY=( $(compgen -W "$(ms-ctl completion nodes 2>/dev/null)" -- "$current") ) ;;
    completion) COMPREPLY=( $(compgen -W "bash fish zsh" -- "$current") ) ;;
    help) COMPREPLY=( $(compgen -W "@COMMANDS@" -- "$current") ) ;;
  esac
}
# ms-worker and ms-scheduler. $1: the settings, as --switch, --flag= (any value), --flag=file, --flag=host or
# --flag=one|two. $2: not empty if a command follows.
_ms_settings() {
  local current=${COMP_WORDS[COMP_CWORD]} previous= valued=" " flags= word spec i
  (( COMP_CWORD > 0 )) && previous=${COMP_WORDS[COMP_CWORD-1]}
  [[ $current == "=" ]] && current=
  [[ $previous == "=" ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
  COMPREPLY=()
  for spec in $1; do
    flags+=" ${spec%%=*}"
    [[ $spec == *=* ]] && valued+="${spec%%=*} "
  done
  for (( i = 1; i < COMP_CWORD; i++ )); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- || $word == -m ]]; then
      _ms_command $(( i + 1 )) "$2"
      return
    elif [[ $valued == *" $word "* ]]; then
      [[ ${COMP_WORDS[i+1]} == "=" ]] && (( i++ ))
      (( i++ ))
    elif [[ $word == "=" ]]; then
      (( i++ ))
    elif [[ $word != -* ]]; then
      _ms_command $i "$2"
      return
    fi
  done
  for spec in $1; do
    [[ $spec == "$previous="* ]] || continue
    case ${spec#*=} in
      file) COMPREPLY=( $(compgen -f -- "$current") ) ;;
      host) COMPREPLY=( $(compgen -A hostname -- "$current") ) ;;
      *) spec=${spec#*=}; COMPREPLY=( $(compgen -W "${spec//|/ }" -- "$current") ) ;;
    esac
    return
  done
  if [[ $current == -* ]]; then
    COMPREPLY=( $(compgen -W "$flags" -- "$current") )
  else
    _ms_command $COMP_CWORD "$2"
  fi
}
_ms_command() {
  [[ -n $2 ]] || return
  COMPREPLY=( $(compgen -f -- "$current") )
  (( $1 == COMP_CWORD )) && COMPREPLY+=( $(compgen -c -- "$current") )
}
_ms_worker() { _ms_settings "@WORKER@" command; }
_ms_scheduler() { _ms_settings "@SCHEDULER@"; }
complete -F _ms_ctl ms-ctl
complete -F _ms_worker ms-worker
complete -F _ms_scheduler ms-scheduler
)sh";

std::vector<std::string> FlagsOf(const SettingsTable& table) {
  std::vector<std::string> flags = {"--help", "--help-all", "--version", "--config"};
  for (const Setting& setting : table.settings()) {
    if (!setting.is_hidden) flags.push_back("--" + setting.flag);
  }
  return flags;
}

// Returns the settings of ms-worker or ms-scheduler in the form that the script needs.
std::vector<std::string> SpecsOf(const SettingsTable& table) {
  std::vector<std::string> specs = {"--help", "--help-all", "--version", "--config=file"};
  for (const Setting& setting : table.settings()) {
    if (setting.is_hidden) continue;
    const CompletedValue value = CompletedValueOf(setting);
    std::string kind = absl::StrJoin(value.words, "|");
    if (value.kind == CompletedValue::kFile) kind = "file";
    if (value.kind == CompletedValue::kHost) kind = "host";
    specs.push_back(absl::StrCat("--", setting.flag, setting.is_switch() ? "" : "=", kind));
  }
  return specs;
}

// Prints names for the script when the user presses TAB. Must be quick, and silent on errors. Bash would execute $(…)
// in such words, and any program may answer at the port. So it prints only words that have the form of an id.
int CompleteFromScheduler(Call& call, bool wants_nodes) {
  const CtlSettings& settings = call.settings;
  const auto tls = OpenTls(settings);
  if (!tls.ok()) return kExitSecurity;
  const auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, absl::Seconds(1),
                                           SecurityOf(settings, *tls), {}, wants_nodes ? settings.job_id : "");
  if (!client.ok()) return kExitUnreachable;
  std::string names;
  const auto add = [&names](const std::string& id) {
    if (IsId(id)) absl::StrAppend(&names, id, "\n");
  };
  if (wants_nodes) {
    const auto jobs = ForEachJob(**client, settings, &AdminClient::ListNodes);
    if (!jobs.ok()) return kExitUnreachable;
    for (const NodesOfJob& job : *jobs) {
      for (const v1::NodeStatus& node : job.reply.nodes()) add(node.node_id());
    }
  } else {
    const absl::StatusOr<v1::StatusReply> reply = (*client)->GetStatus("", 0);
    if (!reply.ok()) return kExitUnreachable;
    for (const v1::RunStatus& run : reply->runs()) add(run.job_id());
  }
  return Print(names);
}

int PrintTables(const Call& call) {
  CompletionTables tables;
  for (const Command& command : Commands()) {
    const bool takes_node = absl::EndsWith(command.argument, "NODE");
    const bool takes_job = absl::StartsWith(command.argument, "[JOB]") && !takes_node;
    tables.commands.push_back({command.name, command.help, takes_job, takes_node});
  }
  for (const certs::CertsCommand& command : certs::CertsCommands()) {
    tables.certs_commands.push_back({command.name, command.help});
  }
  agent::AgentSettings worker;
  scheduler::SchedulerSettings scheduler;
  const SettingsTable of_worker = agent::AgentSettingsTable(worker);
  const SettingsTable of_scheduler = scheduler::SchedulerSettingsTable(scheduler);
  tables.programs = {&call.table, &of_worker, &of_scheduler};
  return Print(call.argument == "fish" ? FishCompletion(tables) : ZshCompletion(tables));
}

}  // namespace

std::string BashCompletion(const CompletionWords& words) {
  return absl::StrReplaceAll(kScript, {{"@JOB_COMMANDS@", absl::StrJoin(words.job_commands, "|")},
                                       {"@WORKER@", absl::StrJoin(words.worker, " ")},
                                       {"@SCHEDULER@", absl::StrJoin(words.scheduler, " ")},
                                       {"@FLAGS@", absl::StrJoin(words.flags, " ")},
                                       {"@COMMANDS@", absl::StrJoin(words.commands, " ")},
                                       {"@CERTS_FLAGS@", absl::StrJoin(words.certs_flags, " ")},
                                       {"@CERTS_COMMANDS@", absl::StrJoin(words.certs_commands, " ")}});
}

int PrintCompletion(Call& call) {
  if (call.argument == "jobs" || call.argument == "nodes") return CompleteFromScheduler(call, call.argument == "nodes");
  if (call.argument == "fish" || call.argument == "zsh") return PrintTables(call);
  if (call.argument != "bash") return Usage("completion: name the shell: ms-ctl completion bash, fish or zsh");
  CompletionWords offered;
  for (const Command& command : Commands()) {
    offered.commands.push_back(command.name);
    const bool takes_job = absl::StartsWith(command.argument, "[JOB]") && !absl::EndsWith(command.argument, "NODE");
    if (takes_job) offered.job_commands.push_back(command.name);
  }
  agent::AgentSettings worker;
  scheduler::SchedulerSettings scheduler;
  offered.worker = SpecsOf(agent::AgentSettingsTable(worker));
  offered.scheduler = SpecsOf(scheduler::SchedulerSettingsTable(scheduler));
  offered.flags = FlagsOf(call.table);
  certs::CertsSettings certs_settings;
  offered.certs_flags = FlagsOf(certs::CertsSettingsTable(certs_settings));
  for (const certs::CertsCommand& command : certs::CertsCommands()) offered.certs_commands.push_back(command.name);
  return Print(BashCompletion(offered));
}

}  // namespace muster::ctl
