// Converts one launcher's line into one of ms-worker's. Reads only the host file that the line names.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/convert.h"
#include "ctl/convert/launchers.h"
#include "ctl/convert/written.h"

namespace muster::ctl {

struct LauncherLine {
  const Launcher* launcher = nullptr;
  std::string python;                         // the launcher's own, for a shell; empty: not known
  std::vector<std::string> before;            // the words before the launcher, which stay there, for a shell
  Written program;                            // after the launcher
  Written variables = {};                     // options that the line's variables set: torchrun's PET_NNODES=2
  std::vector<std::string> script_arguments;  // the value of "$@" in the line; empty: not known
};

Converted ConvertLauncher(LauncherLine line);

}  // namespace muster::ctl
