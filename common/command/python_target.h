// What a command line of Python runs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

std::string BaseName(const std::string& path);

// The program's name, without its path, is Python's.
bool IsPython(const std::string& name);

struct PythonTarget {
  enum class Runs {
    kNothing,  // --version
    kScript,
    kModule,
    kCode,   // -c
    kInput,  // standard input: neither of them is named, or "-"
  };
  Runs runs = Runs::kNothing;
  std::string name = {};  // of the script or module
  size_t after = 0;       // the index of the first word after it
};

// `words` begin with Python.
PythonTarget PythonTargetOf(const std::vector<std::string>& words);

// A name of standard input: "-", /dev/stdin, …
bool NamesInput(const std::string& word);

}  // namespace muster
