#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/settings/names.h"
#include "common/settings/settings.h"
#include "common/settings/sources.h"
#include "common/sys/runtime_paths.h"

namespace muster {
namespace {

using Environment = std::map<std::string, std::string>;

enum class SourceKind { kFlag, kVariable, kConfigLine };

const char* RemedyFor(SourceKind kind) {
  switch (kind) {
    case SourceKind::kFlag:
      return "correct the flag or leave it out";
    case SourceKind::kVariable:
      return "correct the variable or unset it";
    case SourceKind::kConfigLine:
      return "correct the line or remove it";
  }
  return "";
}

struct Winner {
  SourceKind kind = SourceKind::kFlag;
  std::vector<GivenValue> values;  // in the order given; more than one only for a repeated setting
};

std::vector<GivenValue> ValuesFor(const Setting& setting, const std::vector<GivenValue>& given) {
  std::vector<GivenValue> values;
  for (const GivenValue& value : given) {
    if (value.setting != &setting) continue;
    if (!setting.is_repeated) values.clear();  // the last value counts
    values.push_back(value);
  }
  return values;
}

Winner WinnerFor(const Setting& setting, const CommandLine& command_line, const Environment& environment,
                 const ConfigFile& config) {
  Winner winner{SourceKind::kFlag, ValuesFor(setting, command_line.values)};
  if (!winner.values.empty()) return winner;
  for (const std::string& name : setting.env) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) {
      return {SourceKind::kVariable, {{&setting, found->second, name}}};
    }
  }
  return {SourceKind::kConfigLine, ValuesFor(setting, config.values)};
}

// Expands a path value (~, and relative paths where the setting asks for it). Returns any other value unchanged.
absl::StatusOr<std::string> Meant(const Setting& setting, const std::string& value, const Environment& environment) {
  if (!setting.is_path() || setting.is_ignored) return value;
  return setting.is_absolute ? AbsolutePath(value, environment) : ExpandHome(value, environment);
}

void Take(const Setting& setting, const Winner& winner, const Environment& environment, LoadResult& result) {
  result.sources[setting.flag] = winner.values.empty() ? "default" : winner.values.back().source;
  for (const GivenValue& given : winner.values) {
    const absl::StatusOr<std::string> meant = Meant(setting, given.value, environment);
    const absl::Status status = meant.ok() ? setting.parse(*meant) : meant.status();
    if (!status.ok()) {
      result.findings.errors.push_back(absl::StrCat(setting.flag, ": ", Quoted(given.value), " (from ", given.source,
                                                    ") ", std::string(status.message()), "; ", RemedyFor(winner.kind)));
    } else if (setting.on_set) {
      setting.on_set(*meant, given.source);
    }
  }
}

void WarnOfNearMisses(const NameIndex& names, const Environment& environment, SettingsFindings& findings) {
  for (const auto& [name, value] : environment) {
    if (!absl::StartsWith(name, "MS_")) continue;
    if (const auto meant = names.ResemblingVariable(name)) {
      findings.warnings.push_back(absl::StrCat(name, " is set, but has no effect: did you mean ", *meant, "?"));
    }
  }
}

}  // namespace

LoadResult LoadSettings(SettingsTable& table, const std::vector<std::string>& args,
                        const std::map<std::string, std::string>& environment, bool first_word_is_command) {
  const NameIndex names(table);
  LoadResult result;
  CommandLine command_line = ReadCommandLine(names, table.program(), args, first_word_is_command);
  ConfigFile config;
  auto& errors = result.findings.errors;
  errors = std::move(command_line.errors);
  if (const auto file = ExpandHome(command_line.config_file, environment); !file.ok()) {
    errors.push_back(absl::StrCat("config: ", Quoted(command_line.config_file), " (from --config) ",
                                  std::string(file.status().message())));
  } else if (!file->empty()) {
    config = ReadConfigFile(names, *file);
  }
  errors.insert(errors.end(), config.errors.begin(), config.errors.end());
  for (const Setting& setting : table.settings()) {
    Take(setting, WinnerFor(setting, command_line, environment, config), environment, result);
  }
  for (const auto& rule : table.rules_at_end()) rule(result);
  WarnOfNearMisses(names, environment, result.findings);

  result.wants_help = command_line.wants_help;
  result.wants_all_help = command_line.wants_all_help;
  result.wants_version = command_line.wants_version;
  result.positional = std::move(command_line.positional);
  result.command = std::move(command_line.command);
  return result;
}

std::map<std::string, std::string> ProcessEnvironment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace muster
