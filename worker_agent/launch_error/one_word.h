// Recognises a command that the user has typed as one word, in quotes: ms-worker -- 'python train.py'. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

// Returns a hint on how to type the command, for the end of the message that the command was not found. Empty: its
// first word has no space in it.
std::string OneWordHint(const std::vector<std::string>& command);

}  // namespace muster::agent
