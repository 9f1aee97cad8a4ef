// The first steps of each main after it has read its settings: it answers --help, --help-all and --version, reports
// errors in the settings, and answers --check_config.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster {

// Answers --help, --help-all or --version on stdout and returns the exit code. nullopt if none of them was given.
// (EndProgram reports output that could not be written.)
std::optional<int> AnswerAtOnce(const SettingsTable& table, const LoadResult& loaded);

// The result of checking a daemon's settings.
struct Settled {
  // Set if the program must exit with this code: an error was printed, or --check_config was answered.
  std::optional<int> exit_code = std::nullopt;
  std::vector<std::string> warnings = {};  // for the log
};

struct SettleOptions {
  SettingsFindings more;                               // errors and warnings to add to those of `loaded`
  std::string word_rule;                               // appended to "unexpected word x"
  bool only_checks = false;                            // --check_config
  std::function<std::vector<TimeoutStep>()> timeouts;  // the steps that --check_config prints
};

// Prints all errors to stderr, each after the program's name. With `only_checks`, prints the values and the timeouts to
// stdout.
Settled Settle(const SettingsTable& table, const LoadResult& loaded, SettleOptions options);

}  // namespace muster
