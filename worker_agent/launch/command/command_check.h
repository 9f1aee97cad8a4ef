// Checks of the processes' command before this node joins, while no other node waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

// ---- command_check.cc: how the command is started, and whether it can be started at all.

struct CommandProblem {
  int exit_code = 0;  // as a shell's: 127 not found, 126 not executable
  std::string text;   // for people, in one line
};

// Looks for `program` as execvp does with that PATH (null: none is set), from this process's working folder. A script
// needs the interpreter that its first line names, too. Faults that only the start itself can find (a wrong format, a
// file server that is slow to answer) are no problem yet. `command`: the words of which it is the first, for the
// message on one that is not found.
std::optional<CommandProblem> CheckProgram(const std::string& program, const std::string* search_path,
                                           const std::vector<std::string>& command = {});

// Checks a command line likewise, with the values of --env and the inherited ones. A program that placeholders name is
// known only when the ranks are.
std::optional<CommandProblem> CheckCommand(const std::vector<std::string>& command,
                                           const std::map<std::string, std::string>& overrides,
                                           const std::map<std::string, std::string>& inherited);

// Adds the python as torchrun and msrun do: a command that begins with a file NAME.py, or with -m MODULE, runs under
// `chosen`, which is put before it. Where none is chosen (empty), that is the python that is first in PATH (python3,
// else python), and a file that can be run directly stays so: with a slash in its name or found in PATH, executable,
// and with a first line that names its interpreter.
struct PythonCommand {
  std::string python;                     // the one put before the command; empty: the command stays as it is
  std::optional<CommandProblem> problem;  // no python, no module's name, no such file
};
PythonCommand AddPython(std::vector<std::string>& command, const std::map<std::string, std::string>& overrides,
                        const std::map<std::string, std::string>& inherited, const std::string& chosen = "");

// ---- launcher_reach.cc: how a launcher that is started once for the job (--per_job) reaches the job's other nodes.
// Pure, except that it looks for ssh in PATH.

// Checks a command without --allow_exec. `nodes`: the number of the job's nodes, if each has as many slots as this one;
// 0: not known.
void CheckReach(const std::vector<std::string>& command, uint32_t nodes,
                const std::map<std::string, std::string>& environment, SettingsFindings& findings);

// ---- script_input.cc: whether a command reads its script from standard input, as `python - <<EOF` does. Reads shell
// scripts (started.h).

// Warns about a command that reads its script from an empty standard input: it runs nothing, and ends well.
void CheckScriptInput(const std::vector<std::string>& command, SettingsFindings& findings);

}  // namespace muster::agent
