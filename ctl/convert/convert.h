// `ms-ctl convert`: the line of another launcher as one of ms-worker's. Reads the host files and shell scripts that the
// line names, each up to 64 KiB; asks nobody.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Converted {
  std::string line;                // for a shell; of a script one for each launcher in it; empty: there is an error
  std::vector<std::string> notes;  // what has no counterpart, and what is to be known
  std::string error;
};

// `words`: the line, as a shell has split it, or as a whole in one word. What stands before the launcher (assignments,
// env, uv run, srun) stays there.
Converted Convert(const std::vector<std::string>& words);

}  // namespace muster::ctl
