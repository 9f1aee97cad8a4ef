// Reads a launcher's options and the host file that they name; nothing else.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/job_size.h"
#include "ctl/convert/launcher_line.h"
#include "ctl/convert/written.h"

namespace muster::ctl {

// An option's value: as the program gets it, and as a shell writes it.
struct OptionValue {
  std::string text, shown;
};

struct Asked {
  std::vector<std::string> flags;  // of ms-worker, for a shell
  JobSize size = {};
  OptionValue host = {}, port = {};  // of the first node
  std::string redirects = {}, tee = {};
  bool is_standalone = false;
  bool is_module = false;       // the command is a Python module
  bool is_as_typed = false;     // the command is not a Python script
  bool gets_local_rank = true;  // as an argument, if the launcher gives one
  Written command = {};
  std::vector<std::string> notes = {};
  std::string error = {};  // empty: there is none
};

Asked ReadOptions(const LauncherLine& line);

// Adds the setting. If ms-worker's own parser refuses the value, leaves it out and adds a note. `shown` is the option
// that asked for it.
bool AddFlag(const std::string& flag, const OptionValue& value, const std::string& shown, Asked& asked);

// Returns the reason why ms-worker refuses the setting; empty: it accepts it, or only the shell knows the value.
std::string WhyRefused(const std::string& flag, const std::string& value);

}  // namespace muster::ctl
