// What the processes' command is found to be before this node joins, while nobody waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

// ---- command_check.cc: how it is started, and whether it can be started at all.

struct CommandProblem {
  int exit_code = 0;  // as a shell's: 127 not found, 126 not executable
  std::string text;   // for people, in one line
};

// Looks for `program` as execvp does with that PATH (null: none is set), from this process's working folder. A script
// needs the interpreter that its first line names, too. What only the start itself can tell (a wrong format, a file
// server that is slow to answer) is no problem yet. `command`: the words that it is the first of, for what is said of
// one that is not found.
std::optional<CommandProblem> CheckProgram(const std::string& program, const std::string* search_path,
                                           const std::vector<std::string>& command = {});

// The same for a command line with what --env sets and what is inherited. A program that placeholders name is known
// only when the ranks are.
std::optional<CommandProblem> CheckCommand(const std::vector<std::string>& command,
                                           const std::map<std::string, std::string>& overrides,
                                           const std::map<std::string, std::string>& inherited);

// As torchrun and msrun take it: a command that begins with a file NAME.py, or with -m MODULE, runs under `chosen`,
// which is put before it. Where none is chosen (empty), that is the python that is first in PATH (python3, else
// python), and a file that can be run as it stands stays so: with a slash in its name or found in PATH, executable, and
// with a first line that names its interpreter.
struct PythonCommand {
  std::string python;                     // that was put before the command; empty: the command stays as it is
  std::optional<CommandProblem> problem;  // no python, no module's name, no such file
};
PythonCommand AddPython(std::vector<std::string>& command, const std::map<std::string, std::string>& overrides,
                        const std::map<std::string, std::string>& inherited, const std::string& chosen = "");

// ---- launcher_reach.cc: how a launcher that is started once for the job (--per_job) reaches the job's other nodes.
// Pure but for looking for ssh in PATH.

// Without --allow_exec. `nodes`: of the job, as many as this one's slots need; 0: not known.
void CheckReach(const std::vector<std::string>& command, uint32_t nodes,
                const std::map<std::string, std::string>& environment, SettingsFindings& findings);

// ---- script_input.cc: whether a command reads its script from standard input, as `python - <<EOF` does. Reads shell
// scripts (started.h).

// For processes whose standard input is empty: such a command runs nothing, and ends well. A warning.
void CheckScriptInput(const std::vector<std::string>& command, SettingsFindings& findings);

}  // namespace muster::agent
