// The completion of a flag's value:
//
//   the value's name              fish                          zsh
//   FILE, FOLDER, PATH            files                         _files
//   HOST…                         hosts that the shell knows    _hosts
//   one|two                       these words                   these words
//   any other                     nothing                       nothing
//   none (a switch)               takes none                    takes none
//
// The shell asks for jobs and nodes while the user types: `ms-ctl completion jobs` and `ms-ctl completion nodes`.
#include "ctl/commands/completion_tables.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace muster::ctl {
namespace {

bool IsWord(absl::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_islower(c) || c == '_'; });
}

// Puts the text in single quotes, in the way that both fish and zsh read.
std::string Quote(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}
std::string FishQuote(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}
// Escapes the text for the brackets of a spec of _arguments, and of _describe.
std::string Spec(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

constexpr char kJobs[] = "(ms-ctl completion jobs 2>/dev/null)";
constexpr char kNodes[] = "(ms-ctl completion nodes 2>/dev/null)";

void AppendFish(std::string& out, const std::string& program, const std::string& flag, const CompletedValue& value,
                const std::string& help) {
  absl::StrAppend(&out, "complete -c ", program, " -l ", flag, " -d ", FishQuote(help));
  switch (value.kind) {
    case CompletedValue::kSwitch:
      break;
    case CompletedValue::kFile:
      absl::StrAppend(&out, " -rF");
      break;
    case CompletedValue::kHost:
      absl::StrAppend(&out, " -xa '(__fish_print_hostnames)'");
      break;
    case CompletedValue::kWords:
      absl::StrAppend(&out, " -xa ", FishQuote(absl::StrJoin(value.words, " ")));
      break;
    case CompletedValue::kOther:
      absl::StrAppend(&out, " -x");
      break;
  }
  absl::StrAppend(&out, "\n");
}

std::string ZshFlag(const std::string& flag, const CompletedValue& value, const std::string& help) {
  std::string spec = absl::StrCat("--", flag, value.kind == CompletedValue::kSwitch ? "" : "=", "[", Spec(help), "]");
  switch (value.kind) {
    case CompletedValue::kSwitch:
      break;
    case CompletedValue::kFile:
      absl::StrAppend(&spec, ":file:_files");
      break;
    case CompletedValue::kHost:
      absl::StrAppend(&spec, ":host:_hosts");
      break;
    case CompletedValue::kWords:
      absl::StrAppend(&spec, ":value:(", absl::StrJoin(value.words, " "), ")");
      break;
    case CompletedValue::kOther:
      absl::StrAppend(&spec, ":value: ");
      break;
  }
  return Quote(spec);
}

// The flags that every program has, which are in no settings table.
struct CommonFlag {
  const char* name;
  CompletedValue::Kind kind;
  const char* help;
};
constexpr CommonFlag kCommon[] = {{"help", CompletedValue::kSwitch, "Shows the settings that most people need."},
                                  {"help-all", CompletedValue::kSwitch, "Shows all settings."},
                                  {"version", CompletedValue::kSwitch, "Shows the version."},
                                  {"config", CompletedValue::kFile, "Reads settings from a file."}};

std::string ZshOffers(const std::vector<Offer>& offers) {
  std::string out;
  for (const Offer& offer : offers) absl::StrAppend(&out, " ", Quote(absl::StrCat(Spec(offer.name), ":", offer.help)));
  return out;
}

std::string AllNames(const std::vector<Offer>& offers, const char* separator) {
  return absl::StrJoin(offers, separator, [](std::string* text, const Offer& offer) { *text += offer.name; });
}

std::string NamesThat(const std::vector<Offer>& offers, bool Offer::*takes, const char* separator) {
  std::vector<std::string> names;
  for (const Offer& offer : offers) {
    if (offer.*takes) names.push_back(offer.name);
  }
  return absl::StrJoin(names, separator);
}

}  // namespace

CompletedValue CompletedValueOf(const Setting& setting) {
  const std::string& name = setting.value_name;
  if (setting.is_switch()) return {CompletedValue::kSwitch};
  if (setting.is_path()) return {CompletedValue::kFile};
  if (absl::StartsWith(name, "HOST")) return {CompletedValue::kHost};
  std::vector<std::string> words = absl::StrSplit(name, '|');
  std::erase_if(words, [](const std::string& word) { return !IsWord(word); });
  if (words.empty()) return {};
  return {CompletedValue::kWords, std::move(words)};
}

std::string FishCompletion(const CompletionTables& tables) {
  std::string out = "# fish completion for Muster's programs: ms-ctl completion fish | source\n";
  for (const SettingsTable* table : tables.programs) {
    for (const CommonFlag& flag : kCommon) AppendFish(out, table->program(), flag.name, {flag.kind}, flag.help);
    for (const Setting& setting : table->settings()) {
      if (setting.is_hidden || setting.is_ignored) continue;
      AppendFish(out, table->program(), setting.flag, CompletedValueOf(setting), setting.help);
    }
  }
  absl::StrAppend(&out, "complete -c ms-scheduler -f\ncomplete -c ms-ctl -f\n");
  for (const Offer& offer : tables.commands) {
    absl::StrAppend(&out, "complete -c ms-ctl -n __fish_use_subcommand -a ", offer.name, " -d ", FishQuote(offer.help),
                    "\n");
  }
  for (const Offer& offer : tables.certs_commands) {
    absl::StrAppend(&out, "complete -c ms-ctl -n '__fish_seen_subcommand_from certs' -a ", offer.name, " -d ",
                    FishQuote(offer.help), "\n");
  }
  absl::StrAppend(&out, "complete -c ms-ctl -n '__fish_seen_subcommand_from ",
                  NamesThat(tables.commands, &Offer::takes_job, " "), "' -a '", kJobs, "'\n");
  absl::StrAppend(&out, "complete -c ms-ctl -n '__fish_seen_subcommand_from ",
                  NamesThat(tables.commands, &Offer::takes_node, " "), "' -a '", kNodes, "'\n");
  absl::StrAppend(&out, "complete -c ms-ctl -n '__fish_seen_subcommand_from completion' -a 'bash fish zsh'\n");
  absl::StrAppend(&out, "complete -c ms-ctl -n '__fish_seen_subcommand_from help' -a '", AllNames(tables.commands, " "),
                  "'\n");
  return out;
}

std::string ZshCompletion(const CompletionTables& tables) {
  std::string out =
      "#compdef ms-ctl ms-worker ms-scheduler\n# zsh completion for Muster's programs, after compinit: "
      "source <(ms-ctl completion zsh)\n_muster() {\n  local -a flags\n  case $service in\n";
  for (const SettingsTable* table : tables.programs) {
    absl::StrAppend(&out, "  ", table->program(), ") flags=(\n");
    for (const CommonFlag& flag : kCommon)
      absl::StrAppend(&out, "    ", ZshFlag(flag.name, {flag.kind}, flag.help), "\n");
    for (const Setting& setting : table->settings()) {
      if (setting.is_hidden || setting.is_ignored) continue;
      absl::StrAppend(&out, "    ", setting.is_repeated ? "\\*" : "",
                      ZshFlag(setting.flag, CompletedValueOf(setting), setting.help), "\n");
    }
    absl::StrAppend(&out, "  ) ;;\n");
  }
  absl::StrAppend(&out,
                  "  esac\n  case $service in\n  ms-worker) _arguments $flags '*::command:_normal' ;;\n"
                  "  ms-scheduler) _arguments $flags ;;\n"
                  "  *) _arguments $flags '1:command:_ms_ctl_commands' '*:argument:_ms_ctl_argument' ;;\n  esac\n}\n"
                  "_ms_ctl_commands() {\n  local -a offers\n  offers=(",
                  ZshOffers(tables.commands), ")\n  _describe command offers\n}\n");
  absl::StrAppend(&out, "_ms_ctl_argument() {\n  local -a offers\n  case ${words[(r)(", AllNames(tables.commands, "|"),
                  ")]} in\n  certs) offers=(", ZshOffers(tables.certs_commands), "); _describe command offers ;;\n  ",
                  NamesThat(tables.commands, &Offer::takes_job, "|"), ") compadd -- $", kJobs, " ;;\n  ",
                  NamesThat(tables.commands, &Offer::takes_node, "|"), ") compadd -- $", kNodes, " ;;\n",
                  "  completion) compadd bash fish zsh ;;\n  help) _ms_ctl_commands ;;\n  *) _files ;;\n  esac\n}\n",
                  "if [[ $funcstack[1] == _ms-ctl ]]; then _muster \"$@\"; else compdef _muster ms-ctl ms-worker "
                  "ms-scheduler; fi\n");
  return out;
}

}  // namespace muster::ctl
