// Checks of the training command before this node joins, when no other node waits for it yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

// ---- command_check.cc: finds the command's program, adds the Python interpreter, and checks that it can be started.

struct CommandProblem {
  int exit_code = 0;  // as a shell has it: 127 not found, 126 not executable
  std::string text;   // for people, in one line
};

// Looks for `program` as execvp does with that PATH (null: PATH is not set), from this process's working folder. Of a
// script, also checks the interpreter that its first line names. Does not find faults that only the start can show,
// such as a wrong file format. `command`: the whole command, which the message needs if the program is not found.
std::optional<CommandProblem> CheckProgram(const std::string& program, const std::string* search_path,
                                           const std::vector<std::string>& command = {});

// Does CheckProgram for a command's first word, with the PATH of --env (`overrides`) or else the inherited one. Finds
// no problem if that word has a placeholder, since its value is known only once the node has ranks.
std::optional<CommandProblem> CheckCommand(const std::vector<std::string>& command,
                                           const std::map<std::string, std::string>& overrides,
                                           const std::map<std::string, std::string>& inherited);

// The result of AddPython.
struct PythonCommand {
  std::string python;                     // the interpreter that was put before the command; empty: none was
  std::optional<CommandProblem> problem;  // there is no python, no module's name, or no such file
};
// Puts a Python interpreter before a command that begins with a file NAME.py or with -m MODULE, as torchrun and msrun
// do. The interpreter is `chosen` (--python). If that is empty, it is python3, else python, from PATH; a file NAME.py
// that can be run directly is then left alone. Such a file is executable, has a first line that names its interpreter,
// and has a slash in its name or is found in PATH.
PythonCommand AddPython(std::vector<std::string>& command, const std::map<std::string, std::string>& overrides,
                        const std::map<std::string, std::string>& inherited, const std::string& chosen = "");

// ---- launcher_reach.cc: checks whether a launcher that is started once for the job (--per_job) can start programs on
// the job's other nodes. Pure, except that it looks for ssh in PATH.

// Checks a command for which --allow_exec is not given. `nodes`: the number of the job's nodes, if each has as many
// slots as this one; 0: not known.
void CheckReach(const std::vector<std::string>& command, uint32_t nodes,
                const std::map<std::string, std::string>& environment, SettingsFindings& findings);

// ---- script_input.cc: finds out if a command reads its script from standard input, as `python - <<EOF` does. Also
// looks into shell scripts (common/command/started.h).

// Warns about a command that reads its script from standard input. That is empty here, so the command would run nothing
// and end with exit code 0.
void CheckScriptInput(const std::vector<std::string>& command, SettingsFindings& findings);

}  // namespace muster::agent
