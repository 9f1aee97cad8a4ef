// The parts of the --help text, for programs that also explain each of their commands.
#pragma once

#include <functional>
#include <string>

#include "common/settings/settings.h"

namespace muster {

// Returns "Usage: …" and `text`, broken into lines.
std::string HelpHead(const std::string& usage, const std::string& text);

// Returns the lines under the headings of their groups, in the order of the groups. A line without a group comes under
// "Examples".
std::string HelpLines(const std::vector<HelpLine>& lines);

// Returns the settings that `is_shown` accepts, except hidden ones, under the headings of their groups.
std::string HelpSettings(const SettingsTable& table, const std::function<bool(const Setting&)>& is_shown);

// Returns "--help-all shows all 83 settings."
std::string HelpEnd(const SettingsTable& table);

}  // namespace muster
