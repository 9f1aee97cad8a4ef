// The first steps of each main after it has read its settings: --help, --help-all and --version, errors in the
// settings, --check_config.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster {

// Handles --help, --help-all and --version: prints to stdout, and returns the exit code. (EndProgram reports failed
// writes.) nullopt if none was asked for.
std::optional<int> AnswerAtOnce(const SettingsTable& table, const LoadResult& loaded);

// The result of checking a daemon's settings.
struct Settled {
  // The code to exit with: an error was printed, or --check_config was asked for.
  std::optional<int> exit_code = std::nullopt;
  std::vector<std::string> warnings = {};  // for the log
};

struct SettleOptions {
  SettingsFindings more;                               // added to those of `loaded`
  std::string word_rule;                               // follows "unexpected word x"
  bool only_checks = false;                            // --check_config
  std::function<std::vector<TimeoutStep>()> timeouts;  // for --check_config to print
};

// Prints all errors to stderr, each after the program's name. With `only_checks` prints the settled values and the
// timeouts to stdout.
Settled Settle(const SettingsTable& table, const LoadResult& loaded, SettleOptions options);

}  // namespace muster
