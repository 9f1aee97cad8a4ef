// The simple commands of a shell's text, and words quoted for a shell. Pure. A scan, not a shell: it expands nothing
// and follows no condition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct ShellCommand {
  std::vector<std::string> assignments;  // NAME=VALUE before the words; a command may have nothing else
  std::vector<std::string> words;        // without quotes and redirections; $NAME stays as it is
  std::vector<std::string> typed;        // the same words as they are written
  size_t begin = 0, end = 0;             // the bytes of the text from the first assignment or word to the last one
  uint32_t line = 1;
  bool has_input = false;  // a redirection or a pipe feeds its standard input
};

// In the order of the text, at most 1,024. Comments, here-documents, function names and the patterns of `case` are left
// out; what stands in $(…) belongs to its word.
std::vector<ShellCommand> ShellCommands(std::string_view text);

// NAME=VALUE, as a shell takes it before a command.
bool IsAssignment(std::string_view word);

// The word as a shell reads it back: without quotes where it needs none.
std::string ShellWord(const std::string& word);

}  // namespace muster
