// `ms-ctl convert`: the line of another launcher as one of ms-worker's. Pure: it reads no file and asks nobody.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

struct Converted {
  std::string line;                // for a shell; empty: there is an error
  std::vector<std::string> notes;  // what has no counterpart, and what is to be known
  std::string error;
};

// `words`: the line, as a shell has split it. Assignments before the launcher stay where they are.
Converted Convert(const std::vector<std::string>& words);

}  // namespace muster::ctl
