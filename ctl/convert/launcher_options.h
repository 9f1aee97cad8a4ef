// What a launcher's options ask for. Reads the host file that they name; nothing else.
#pragma once

#include <string>
#include <vector>

#include "ctl/convert/job_size.h"
#include "ctl/convert/launcher_line.h"
#include "ctl/convert/written.h"

namespace muster::ctl {

// A value that an option has: what the program gets, and how it is written for a shell.
struct OptionValue {
  std::string text, shown;
};

struct Asked {
  std::vector<std::string> flags;  // of ms-worker, for a shell
  JobSize size = {};
  OptionValue host = {}, port = {};  // of the first node
  std::string redirects = {}, tee = {};
  bool is_standalone = false;
  bool is_module = false;       // the command is one of Python's
  bool is_as_typed = false;     // the command is no script of Python's
  bool gets_local_rank = true;  // as an argument, if the launcher gives one
  Written command = {};
  std::vector<std::string> notes = {};
  std::string error = {};  // empty: there is none
};

Asked ReadOptions(const LauncherLine& line);

// Adds the setting; a value that ms-worker's own parser refuses is left out, with a note. `shown`: the option that has
// asked for it.
bool AddFlag(const std::string& flag, const OptionValue& value, const std::string& shown, Asked& asked);

// Why ms-worker refuses the setting; empty: it takes it, or only the shell knows the value.
std::string WhyRefused(const std::string& flag, const std::string& value);

}  // namespace muster::ctl
