// Finds out what a Python command line runs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

std::string BaseName(const std::string& path);

// True if a program with this name, without its path, is a Python interpreter ("python3.11").
bool IsPython(const std::string& name);

struct PythonTarget {
  enum class Runs {
    kNothing,  // --version
    kScript,
    kModule,
    kCode,   // -c
    kInput,  // standard input: the line names no script, or "-"
  };
  Runs runs = Runs::kNothing;
  std::string name = {};  // name of the script or module, or the code
  size_t after = 0;       // the index of the first word after `name`
};

// Returns what a command line runs. `words` begins with Python itself.
PythonTarget PythonTargetOf(const std::vector<std::string>& words);

// True if the word names standard input: "-", /dev/stdin, …
bool NamesInput(const std::string& word);

}  // namespace muster
