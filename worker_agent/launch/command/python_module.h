// Finds out whether a Python program uses a module. The command's words and the text of its script show it.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

// True if the command's program is a Python interpreter or a file NAME.py.
bool RunsPython(const std::vector<std::string>& command);

// True if the command runs the module or a submodule (-m), or if the script surely imports it: in a line that is not
// under a condition; a line of a function counts. `command` must run Python. Reads at most 1 MiB of the script's file.
bool NamesPythonModule(const std::vector<std::string>& command, const std::string& module);

// True if NamesPythonModule is true for one of the command's training programs (TrainingPrograms in launchers.h) that
// run Python.
bool UsesPythonModule(const std::vector<std::string>& command, const std::string& module);

// True if the script of one of the training programs contains the text anywhere. Reads at most 1 MiB of it.
bool ScriptContains(const std::vector<std::string>& command, const std::string& text);

}  // namespace muster::agent
