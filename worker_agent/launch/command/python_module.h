// Whether a Python program uses a module, by its words and its script's text.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

// The program's name, without its path, is Python's.
bool IsPython(const std::string& name);

// `command` begins with Python. The module, or a part of it, is a word (-m), or the script imports it where no
// condition stands before: in a line of its own or of a function. Reads the script's file, up to 1 MiB.
bool NamesPythonModule(const std::vector<std::string>& command, const std::string& module);

// The same of what stands behind env, nice, `bash -c` and the like; another launcher and another program use none.
bool UsesPythonModule(const std::vector<std::string>& command, const std::string& module);

// The script of such a command has this text in it, wherever. Reads the script's file, up to 1 MiB.
bool ScriptContains(const std::vector<std::string>& command, const std::string& text);

}  // namespace muster::agent
