// One launcher's line as one of ms-worker's. Reads the host file that the line names; nothing else.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/convert.h"
#include "ctl/convert/launchers.h"

namespace muster::ctl {

struct LauncherLine {
  const Launcher* launcher = nullptr;
  std::string python;               // the launcher's own; empty: it did not say
  std::vector<std::string> before;  // what stands before the launcher and stays there, for a shell
  std::vector<std::string> words;   // after the launcher
  std::vector<std::string> typed;   // the same, for a shell
  // Options that the line's variables are: torchrun's PET_NNODES=2.
  std::vector<std::string> options;
};

Converted ConvertLauncher(LauncherLine line);

// A value as a word of the new line: $NAME stays a variable.
std::string ShownValue(const std::string& value);

}  // namespace muster::ctl
