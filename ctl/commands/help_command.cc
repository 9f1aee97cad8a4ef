// `ms-ctl help [COMMAND]`; `ms-ctl COMMAND --help` does the same.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/settings/help.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

// True if the command uses this setting, which is common to several commands.
bool UsesCommon(const Command& command, const Setting& setting) {
  if (command.group == kWithoutScheduler) return setting.flag == "json" && command.name == "journal";
  if (setting.flag == "job") return absl::StartsWith(command.argument, "[JOB]");
  if (setting.flag == "json") return command.name != "report" && command.name != "hostfile";
  return true;
}

std::string HelpOf(const Command& command, const SettingsTable& table) {
  const std::string own = HelpSettings(table, [&command](const Setting& setting) {
    return std::find(setting.commands.begin(), setting.commands.end(), command.name) != setting.commands.end();
  });
  const std::string common = HelpSettings(table, [&command](const Setting& setting) {
    return setting.is_common && setting.commands.empty() && UsesCommon(command, setting);
  });
  const std::string settings = own + common;
  std::vector<HelpLine> examples;
  for (const std::string& line : command.examples) examples.push_back({"", line, ""});
  return absl::StrCat(HelpHead(absl::StrCat("ms-ctl ", command.Words(), settings.empty() ? "" : " [settings]"),
                               absl::StrCat(command.help, command.more.empty() ? "" : " ", command.more)),
                      HelpLines(examples), settings, settings.empty() ? "" : HelpEnd(table));
}

}  // namespace

int ShowHelp(Call& call) {
  if (call.argument.empty()) return Print(HelpText(call.table));
  const Command* command = FindCommand(call.argument);
  if (command == nullptr) return Usage(UnknownCommand(call.argument));
  if (command->name == "certs") {
    certs::CertsSettings settings;
    return Print(HelpText(certs::CertsSettingsTable(settings)));
  }
  return Print(HelpOf(*command, call.table));
}

}  // namespace muster::ctl
