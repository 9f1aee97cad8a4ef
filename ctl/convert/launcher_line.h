// One launcher's line as one of ms-worker's. Reads the host file that the line names; nothing else.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/convert.h"
#include "ctl/convert/launchers.h"
#include "ctl/convert/written.h"

namespace muster::ctl {

struct LauncherLine {
  const Launcher* launcher = nullptr;
  std::string python;                         // the launcher's own, for a shell; empty: it did not say
  std::vector<std::string> before;            // what stands before the launcher and stays there, for a shell
  Written program;                            // after the launcher
  Written variables = {};                     // options that the line's variables are: torchrun's PET_NNODES=2
  std::vector<std::string> script_arguments;  // that "$@" in the line stands for; empty: it is not known
};

Converted ConvertLauncher(LauncherLine line);

}  // namespace muster::ctl
