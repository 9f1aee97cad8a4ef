// A command that was given as one word: in quotes. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

// Returns the end of a message that the command was not found: how it should be typed. Empty: its first word has no
// blank in it.
std::string OneWordHint(const std::vector<std::string>& command);

}  // namespace muster::agent
