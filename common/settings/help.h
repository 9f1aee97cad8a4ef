// The parts of --help's text, for programs that also explain their commands one by one.
#pragma once

#include <functional>
#include <string>

#include "common/settings/settings.h"

namespace muster {

// Returns "Usage: …" and the text after it, broken into lines.
std::string HelpHead(const std::string& usage, const std::string& text);

// Returns the lines, in the order of their groups, under the groups' headings; a line without a group stands under
// "Examples".
std::string HelpLines(const std::vector<HelpLine>& lines);

// Returns the settings that `is_shown` accepts, without hidden ones, in the same form.
std::string HelpSettings(const SettingsTable& table, const std::function<bool(const Setting&)>& is_shown);

// Returns "--help-all shows all 83 settings."
std::string HelpEnd(const SettingsTable& table);

}  // namespace muster
