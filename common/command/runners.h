// Finds the program that a runner starts. A runner is a command that starts the program named in its arguments: env,
// nice, uv run, conda run, srun, …, or a shell with -c. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

struct RunProgram {
  std::vector<std::string> words;  // the program and its arguments; empty: the runner starts none
  size_t before = 0;               // how many of the runner's words stand before them
  size_t text_at = 0;              // the index of the word that is a shell's text (bash -c TEXT); 0: there is none
};

// Turns `env -S "A=1 python -u" train.py` into `env A=1 python -u train.py`; returns other words unchanged.
std::vector<std::string> WithoutSplitString(std::vector<std::string> words);

// Returns the program that the runner words[0] starts. Does not handle env -S: call WithoutSplitString before.
RunProgram ProgramOfRunner(const std::vector<std::string>& words);

bool IsShell(const std::string& name);

// Returns the index of the script file that a shell runs, after the shell's options; 0 if there is none.
size_t FileOfShell(const std::vector<std::string>& words);

}  // namespace muster
