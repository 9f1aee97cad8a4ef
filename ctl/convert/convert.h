// `ms-ctl convert`: turns another launcher's line into one of ms-worker's. Reads the host files and shell scripts that
// the line names, each up to 64 KiB. Asks no scheduler.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Converted {
  std::string line;                // for a shell; for a script, one for each launcher in it; empty: there is an error
  std::vector<std::string> notes;  // what has no counterpart, and other hints
  std::string error;
};

// `words`: the line, as a shell has split it, or as a whole in one word. Keeps what stands before the launcher
// (assignments, env, uv run, srun).
Converted Convert(const std::vector<std::string>& words);

}  // namespace muster::ctl
