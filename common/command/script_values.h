// Returns the commands of a shell's text. In them, variables are replaced by the values that the text itself gives
// them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/command/shell_words.h"

namespace muster {

// In the results of both functions, `typed` is the text as written. If a value consists of several words, only the
// first of them has a `typed` text.

// Fills in the value from the last assignment above a command, although that assignment may not run. Replaces "$@" by
// `arguments`.
std::vector<ShellCommand> CommandsWithLikelyValues(std::string_view text, const std::vector<std::string>& arguments);

// Fills in only values that a variable has in every run of the text.
std::vector<ShellCommand> CommandsWithCertainValues(std::string_view text);

}  // namespace muster
