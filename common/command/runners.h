// Programs that start the program named after them: env, nice, uv run, conda run, srun, … and shells with -c. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

struct RunProgram {
  std::vector<std::string> words;  // the program and its arguments; empty: there is none
  size_t before = 0;               // how many words stand before it
  size_t text_at = 0;              // the word that is a shell's text (-c); 0: there is none
};

// env -S "A=1 python -u" train.py → env A=1 python -u train.py; other words as they are.
std::vector<std::string> WithoutSplitString(std::vector<std::string> words);

// What words[0], a runner, starts; not through env -S.
RunProgram ProgramOfRunner(const std::vector<std::string>& words);

bool IsShell(const std::string& name);

// A shell's words: the file that it runs, after its options; 0: none is named.
size_t FileOfShell(const std::vector<std::string>& words);

}  // namespace muster
