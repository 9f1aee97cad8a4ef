// Finds the programs that a command line starts, as far as its words and the shell scripts named in it show. Reads at
// most 8 scripts, at most 64 KiB of each, and only regular files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct StartedProgram {
  std::vector<std::string> words;  // the program and its arguments
  bool is_last = false;            // it starts no other program that we know of: it is neither a runner nor a script
  // The script that contains the program, and the line there. `script` is empty if the command's own words name the
  // program.
  std::string script = {};
  uint32_t line = 0;
  bool is_exec = false;    // the script starts it with exec
  bool has_input = false;  // a script or pipe feeds its standard input
};

// Returns the command's runners, the programs that they start, and all commands of scripts, at most 1,024. Each runner
// stands before the program that it starts. The first command of `bash -c` counts as part of the command line, not of a
// script.
std::vector<StartedProgram> ProgramsOf(const std::vector<std::string>& command);

// True if the words only ask a program for its help or version (--help, --version), so that it trains nothing.
bool IsOnlyAsked(const std::vector<std::string>& words);

// Reads the shell script that the words run: a shell with a file, or a file with a shell in its first line.
struct ShellScript {
  std::string file;  // empty: there is no script, or it can't be read
  std::string text;
  std::vector<std::string> arguments;
};
ShellScript ReadShellScript(const std::vector<std::string>& words);

}  // namespace muster
