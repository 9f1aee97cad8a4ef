#include "ctl/commands/completion.h"

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

std::string BashCompletion(const CompletionWords& words) {
  return absl::StrReplaceAll(kScript, {{"@FLAGS@", absl::StrJoin(words.flags, " ")},
                                       {"@COMMANDS@", absl::StrJoin(words.commands, " ")},
                                       {"@CERTS_FLAGS@", absl::StrJoin(words.certs_flags, " ")},
                                       {"@CERTS_COMMANDS@", absl::StrJoin(words.certs_commands, " ")}});
}

}  // namespace muster::ctl
