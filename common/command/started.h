// What a command line starts, as far as its words and the shell scripts that it names say. Reads those scripts: of each
// at most 64 KiB, at most 8 of them, and only regular files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct StartedProgram {
  std::vector<std::string> words;  // the program and its arguments
  bool is_last = false;            // it starts no other one that can be told: no runner, no script
  // Empty: the command's own words name it. Else the script, and the line in it.
  std::string script = {};
  uint32_t line = 0;
  bool is_exec = false;    // the script ends with it
  bool has_input = false;  // a script feeds its standard input
};

// The runners that the command consists of, the programs that they start, and all commands of scripts, in this order:
// each runner stands before what it starts. At most 1,024. The first command of `bash -c` counts as the command's own.
std::vector<StartedProgram> ProgramsOf(const std::vector<std::string>& command);

// The program is asked what it is, and trains nothing: --help, --version.
bool IsOnlyAsked(const std::vector<std::string>& words);

// The shell script that the words run: a shell and its file, or a file whose first line names a shell.
struct ShellScript {
  std::string file;  // empty: there is none that can be read
  std::string text;
  std::vector<std::string> arguments;
};
ShellScript ReadShellScript(const std::vector<std::string>& words);

}  // namespace muster
