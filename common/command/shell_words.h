// The simple commands of a shell's text, and words quoted for a shell. Pure. A scan, not a shell: it expands nothing
// and follows no condition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// A part of the text that may run never, once or several times: an arm of if or case, a loop, a function's body, the
// commands after && or ||, a subshell, { }.
struct ShellBlock {
  uint32_t id = 0;  // each has its own
  bool is_function = false;
};

struct ShellCommand {
  std::vector<std::string> assignments;        // NAME=VALUE before the words
  std::vector<std::string> typed_assignments;  // the same as they are written
  std::vector<std::string> words;              // without quotes and redirections; $NAME stays as it is; may be empty
  std::vector<std::string> typed;              // the same words as they are written
  std::vector<std::string> redirections;       // those before `end`, as they are written
  std::vector<std::string> sets;               // the variables of a loop's head or of ((…))
  std::vector<ShellBlock> blocks;              // around the command, outermost first
  size_t begin = 0, end = 0;  // the bytes of the text from the first assignment or word to the last one
  uint32_t line = 1;
  bool has_input = false;  // a redirection or a pipe feeds its standard input, or that of a block around it
};

// Returns the commands in the order of the text: at most 1,024, up to the first one that is nested more than 64 deep.
// Leaves out comments, here-documents, function names and the patterns of `case`; $(…) belongs to its word.
std::vector<ShellCommand> ShellCommands(std::string_view text);

// True for NAME=VALUE, as a shell takes it before a command.
bool IsAssignment(std::string_view word);

// True for a command that takes assignments as words: export, declare, …
bool IsDeclaration(std::string_view word);

// True for a name that a variable can have.
bool IsVariableName(std::string_view word);

// Returns where the first `c` outside $(…), ${…} and `…` is; npos if there is none.
size_t FindOutsideExpansions(std::string_view word, char c);

// Returns the word quoted so that a shell reads it back; without quotes if it needs none.
std::string ShellWord(const std::string& word);

// The same, but the shell expands $NAME, $(…) and `…` in it.
std::string ShellWordToExpand(const std::string& word);

}  // namespace muster
