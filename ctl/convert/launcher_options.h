// Reads the options in a launcher's line, and the host file that they name.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/job_size.h"
#include "ctl/convert/launcher_line.h"
#include "ctl/convert/written.h"

namespace muster::ctl {

// An option's value: `text` as the program gets it, and `shown` as it is written for a shell.
struct OptionValue {
  std::string text, shown;
};

// The result of reading the options.
struct Asked {
  std::vector<std::string> flags;  // settings of ms-worker, written for a shell
  JobSize size = {};
  OptionValue host = {}, port = {};  // the first node's name and port
  std::string redirects = {}, tee = {};
  bool is_standalone = false;
  bool is_module = false;       // the command is a Python module
  bool is_as_typed = false;     // the command is not a Python script
  bool gets_local_rank = true;  // the command gets the argument --local_rank, if the launcher gives one
  Written command = {};
  std::vector<std::string> notes = {};
  std::string error = {};  // empty: there is none
};

Asked ReadOptions(const LauncherLine& line);

// Adds a setting of ms-worker to `asked.flags` and returns true. If ms-worker would refuse the value, adds a note
// instead and returns false. `shown`: the launcher's option that asked for the setting, for the note.
bool AddFlag(const std::string& flag, const OptionValue& value, const std::string& shown, Asked& asked);

// Returns the reason why ms-worker refuses the value of a setting; empty: it accepts the value, or the value has shell
// variables and so is not known here.
std::string WhyRefused(const std::string& flag, const std::string& value);

}  // namespace muster::ctl
