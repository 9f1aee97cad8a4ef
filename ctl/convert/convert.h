// `ms-ctl convert`: converts the command line of another launcher, such as torchrun, into one of ms-worker. Reads the
// host files and shell scripts that the line names, each up to 64 KiB. Asks no scheduler.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Converted {
  std::string line;                // for a shell; for a script, a line for each launcher in it; empty: see `error`
  std::vector<std::string> notes;  // options that have no counterpart, and other hints
  std::string error;               // empty: there is none
};

// Converts a line. `words`: the words into which a shell has split the line, or one word with the whole line. The
// result keeps the words before the launcher, such as assignments, env, uv run or srun.
Converted Convert(const std::vector<std::string>& words);

}  // namespace muster::ctl
