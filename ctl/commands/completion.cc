// `ms-ctl completion`: the script, and what it asks for while somebody types.
#include "ctl/commands/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/exit_codes.h"
#include "common/base/ids.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

constexpr char kScript[] = R"sh(# bash completion for ms-ctl; load it with: source <(ms-ctl completion bash)
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
      --json|--help|--version) ;;
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
      --sched_host|--sched_port|--job|--run|--admin_socket|--timeout|--reason|--config) (( i++ )) ;;
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
    --admin_socket|--config)
      COMPREPLY=( $(compgen -f -- "$current") )
      return ;;
    --sched_port|--run|--timeout|--reason)
      return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=( $(compgen -W "@FLAGS@" -- "$current") )
    return
  fi
  case $command in
    "") COMPREPLY=( $(compgen -W "@COMMANDS@" -- "$current") ) ;;
    stop|restart|why) COMPREPLY=( $(compgen -W "$(ms-ctl completion jobs 2>/dev/null)" -- "$current") ) ;;
    fence|drain|undrain) COMPREPLY=( $(compgen -W "$(ms-ctl completion nodes 2>/dev/null)" -- "$current") ) ;;
    completion) COMPREPLY=( $(compgen -W "bash" -- "$current") ) ;;
  esac
}
complete -F _ms_ctl ms-ctl
)sh";

std::vector<std::string> FlagsOf(const SettingsTable& table) {
  std::vector<std::string> flags = {"--help", "--version", "--config"};
  for (const Setting& setting : table.settings()) {
    if (!setting.is_hidden) flags.push_back("--" + setting.flag);
  }
  return flags;
}

// For TAB, asked for by the script itself: quick, and silent about errors. Bash carries out what stands in a list of
// words, $(…) as well: whatever answers at that port, only what may be an id is handed on.
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

}  // namespace

std::string BashCompletion(const CompletionWords& words) {
  return absl::StrReplaceAll(kScript, {{"@FLAGS@", absl::StrJoin(words.flags, " ")},
                                       {"@COMMANDS@", absl::StrJoin(words.commands, " ")},
                                       {"@CERTS_FLAGS@", absl::StrJoin(words.certs_flags, " ")},
                                       {"@CERTS_COMMANDS@", absl::StrJoin(words.certs_commands, " ")}});
}

int PrintCompletion(Call& call) {
  if (call.argument == "jobs" || call.argument == "nodes") return CompleteFromScheduler(call, call.argument == "nodes");
  if (call.argument != "bash") return Usage("completion: name the shell: ms-ctl completion bash (only bash is known)");
  CompletionWords offered;
  for (const Command& command : Commands()) offered.commands.push_back(command.name);
  offered.flags = FlagsOf(call.table);
  certs::CertsSettings certs_settings;
  offered.certs_flags = FlagsOf(certs::CertsSettingsTable(certs_settings));
  for (const certs::CertsCommand& command : certs::CertsCommands()) offered.certs_commands.push_back(command.name);
  return Print(BashCompletion(offered));
}

}  // namespace muster::ctl
