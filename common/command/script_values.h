// The commands of a shell's text, with the values filled in that the text itself gives to variables. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/command/shell_words.h"

namespace muster {

// In both, `typed` stays as written. If a value is several words, all but the first have an empty `typed`.

// Fills in the last value above a command, whether or not its assignment runs, and fills in `arguments` for "$@".
std::vector<ShellCommand> CommandsWithLikelyValues(std::string_view text, const std::vector<std::string>& arguments);

// Fills in only values that the variable holds in every run of the text.
std::vector<ShellCommand> CommandsWithCertainValues(std::string_view text);

}  // namespace muster
