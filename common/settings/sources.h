// Reads the sources of values: the command line and the config file. These functions don't check the values; load.cc
// does.
#pragma once

#include <string>
#include <vector>

#include "common/settings/names.h"
#include "common/settings/settings.h"

namespace muster {

struct GivenValue {
  const Setting* setting = nullptr;
  std::string value;
  std::string source;  // "--worker-num" as typed, or "muster.conf:3"
};

struct CommandLine {
  std::vector<GivenValue> values;  // in order
  std::string config_file;         // empty: none was named
  bool wants_help = false;
  bool wants_all_help = false;
  bool wants_version = false;
  std::vector<std::string> positional;
  std::vector<std::string> command;
  std::vector<std::string> errors;
};

// Reads the command line by the rules of LoadSettings. Errors name `program`.
CommandLine ReadCommandLine(const NameIndex& names, const std::string& program, const std::vector<std::string>& args,
                            bool first_word_is_command);

struct ConfigFile {
  std::vector<GivenValue> values;  // in order
  std::vector<std::string> errors;
};

ConfigFile ReadConfigFile(const NameIndex& names, const std::string& path);

// As ReadConfigFile, from the file's text; `path` is for messages only.
ConfigFile ParseConfigText(const NameIndex& names, const std::string& path, const std::string& text);

}  // namespace muster
