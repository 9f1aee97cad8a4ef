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

// Turns env -S "A=1 python -u" train.py into env A=1 python -u train.py; returns other words as they are.
std::vector<std::string> WithoutSplitString(std::vector<std::string> words);

// Returns the program that words[0], a runner, starts. Doesn't read env -S.
RunProgram ProgramOfRunner(const std::vector<std::string>& words);

bool IsShell(const std::string& name);

// Returns the index of the file that a shell runs, after its options; 0 if the words name none.
size_t FileOfShell(const std::vector<std::string>& words);

}  // namespace muster
