#include "ctl/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

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

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      {"status", "", "each job's phase, round, who is missing, and why it ended"},
      {"nodes", "", "the agents of a job, when each was last seen, and its ranks"},
      {"ranks", "", "who has which rank, with address, device and process"},
      {"events", "", "the story so far, with wall times"},
      {"stacks", "[RANKS]", "where processes stand: the slowest ones, or those of ranks such as 0,3-5"},
      {"why", "[JOB]", "what a job waits for or failed of, with the last lines and what to do"},
      {"watch", "", "status and events live, until the job ends (exit code 0 or 1)"},
      {"counters", "", "how often what was refused and why, and how long certificates last"},
      {"stop", "[JOB]", "ends a job: its processes are stopped, its agents end"},
      {"restart", "[JOB]", "starts all processes of a job again, in a new round with the same ranks"},
      {"fence", "NODE", "vouches that a lost node's processes have ended, so that its ranks may start elsewhere"},
      {"drain", "NODE", "has a node leave the job where the round ends; a spare or a later start takes its place"},
      {"undrain", "NODE", "lets a node stay after all"},
      {"certs", "COMMAND", "the certificates of a cluster: init, scheduler, node, …; `ms-ctl certs --help` explains"},
      {"completion", "bash", "prints a completion script: source <(ms-ctl completion bash)"},
  };
  return *commands;
}

std::string BashCompletion(const CompletionWords& words) {
  std::vector<std::string> commands;
  for (const Command& command : Commands()) commands.push_back(command.name);
  return absl::StrReplaceAll(kScript, {{"@FLAGS@", absl::StrJoin(words.flags, " ")},
                                       {"@COMMANDS@", absl::StrJoin(commands, " ")},
                                       {"@CERTS_FLAGS@", absl::StrJoin(words.certs_flags, " ")},
                                       {"@CERTS_COMMANDS@", absl::StrJoin(words.certs_commands, " ")}});
}

}  // namespace muster::ctl
