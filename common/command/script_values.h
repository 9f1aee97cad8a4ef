// The commands of a shell's text, in which the values that the text itself gives to variables are filled in. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/command/shell_words.h"

namespace muster {

// In both, `typed` stays as it is written. Where a value is several words, the further ones have an empty `typed`.

// Fills in the last value above a command, whether or not its assignment runs, and `arguments` for "$@".
std::vector<ShellCommand> CommandsWithLikelyValues(std::string_view text, const std::vector<std::string>& arguments);

// Fills in only what the variable holds in each run of the text.
std::vector<ShellCommand> CommandsWithCertainValues(std::string_view text);

}  // namespace muster
