// Finds the simple commands in a shell's text, and quotes words for a shell. Pure. This is a scan, not a shell: it
// expands nothing and evaluates no condition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// A part of the text that may run never, once or several times: a branch of if or case, a loop, a function's body, the
// commands after && or ||, a subshell, { }.
struct ShellBlock {
  uint32_t id = 0;  // unique in the text
  bool is_function = false;
};

struct ShellCommand {
  std::vector<std::string> assignments;        // NAME=VALUE before the words
  std::vector<std::string> typed_assignments;  // the same assignments as they are written
  std::vector<std::string> words;              // without quotes and redirections; $NAME stays as it is; may be empty
  std::vector<std::string> typed;              // the same words as they are written
  std::vector<std::string> redirections;       // the redirections before `end`, as they are written
  std::vector<std::string> sets;               // the variables that a loop's head or ((…)) sets
  std::vector<ShellBlock> blocks;              // the blocks around the command, outermost first
  size_t begin = 0, end = 0;  // the bytes of the text from the first assignment or word to the last one
  uint32_t line = 1;
  bool has_input = false;  // a redirection or a pipe feeds the standard input of the command, or of a block around it
};

// Returns at most 1,024 commands, in the order of the text. Stops before the first command that is nested more than 64
// deep. Leaves out comments, here-documents, function names and the patterns of `case`; $(…) is part of the word that
// it stands in.
std::vector<ShellCommand> ShellCommands(std::string_view text);

// True for NAME=VALUE, which before a command sets a variable.
bool IsAssignment(std::string_view word);

// True for a command with assignments as its arguments: export, declare, …
bool IsDeclaration(std::string_view word);

// True for a name that a variable can have.
bool IsVariableName(std::string_view word);

// Returns the position of the first `c` outside of $(…), ${…} and `…`; npos if there is none.
size_t FindOutsideExpansions(std::string_view word, char c);

// Returns the word, quoted if necessary, so that a shell reads it back as this word.
std::string ShellWord(const std::string& word);

// As ShellWord, but a shell expands $NAME, $(…) and `…` in the result.
std::string ShellWordToExpand(const std::string& word);

}  // namespace muster
