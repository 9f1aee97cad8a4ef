// Finds out if a Python program uses a module, by its words and its script's text.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

// True if the program is Python, or a file NAME.py.
bool RunsPython(const std::vector<std::string>& command);

// `command` runs Python. True if the module, or a part of it, is a word (-m), or the script imports it without a
// condition before: in a line of its own or of a function. Reads the script's file, up to 1 MiB.
bool NamesPythonModule(const std::vector<std::string>& command, const std::string& module);

// True if one of the command's training programs (launchers.h) uses it; another launcher and another program use none.
bool UsesPythonModule(const std::vector<std::string>& command, const std::string& module);

// True if the script of such a program has this text in it, anywhere. Reads the script's file, up to 1 MiB.
bool ScriptContains(const std::vector<std::string>& command, const std::string& text);

}  // namespace muster::agent
