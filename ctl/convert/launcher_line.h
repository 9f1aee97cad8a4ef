// Converts one launcher's line into a line of ms-worker. Of all files, reads only the host file that the line names.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/convert.h"
#include "ctl/convert/launchers.h"
#include "ctl/convert/written.h"

namespace muster::ctl {

struct LauncherLine {
  const Launcher* launcher = nullptr;
  std::string python;               // the launcher's python, written for a shell; empty: not known
  std::vector<std::string> before;  // the words before the launcher, written for a shell; the result keeps them
  Written program;                  // the words after the launcher
  Written variables = {};           // options from variables of the line, such as torchrun's PET_NNODES=2
  std::vector<std::string> script_arguments;  // the value of "$@" in the line; empty: not known
};

// Returns the line of ms-worker, or an error.
Converted ConvertLauncher(LauncherLine line);

}  // namespace muster::ctl
