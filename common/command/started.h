// Finds the programs that a command line starts, as far as its words and the shell scripts that it names show. Reads at
// most 8 of those scripts, at most 64 KiB of each, and only regular files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct StartedProgram {
  std::vector<std::string> words;  // the program and its arguments
  bool is_last = false;            // it starts no other known program: it is no runner and no script
  // Empty if the command's own words name the program. Otherwise the script, and the line in it.
  std::string script = {};
  uint32_t line = 0;
  bool is_exec = false;    // the script ends with it
  bool has_input = false;  // a script feeds its standard input
};

// Returns the command's runners, the programs that they start, and all commands of scripts. Each runner stands before
// the program that it starts. At most 1,024. The first command of `bash -c` counts as the command's own.
std::vector<StartedProgram> ProgramsOf(const std::vector<std::string>& command);

// True if the words only ask the program about itself, and it trains nothing: --help, --version.
bool IsOnlyAsked(const std::vector<std::string>& words);

// The shell script that the words run: a shell and its file, or a file with a shell in its first line.
struct ShellScript {
  std::string file;  // empty: there is none that can be read
  std::string text;
  std::vector<std::string> arguments;
};
ShellScript ReadShellScript(const std::vector<std::string>& words);

}  // namespace muster
