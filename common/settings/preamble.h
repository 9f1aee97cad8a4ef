// How each main begins once its settings are read: --help and --version, what is wrong with the settings,
// --check_config.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster {

// --help and --version: prints to stdout, and returns the code to end with. (EndProgram sees what could not be
// written.) Nothing if neither was asked for.
std::optional<int> AnswerAtOnce(const SettingsTable& table, const LoadResult& loaded);

// What a daemon's settings come to.
struct Settled {
  // End with it: something is wrong and has been said, or --check_config was asked for.
  std::optional<int> exit_code = std::nullopt;
  std::vector<std::string> warnings = {};  // for the log
};

struct SettleOptions {
  SettingsFindings more;                               // beside those of `loaded`
  std::string word_rule;                               // follows "unexpected word x"
  bool only_checks = false;                            // --check_config
  std::function<std::vector<TimeoutStep>()> timeouts;  // that --check_config prints
};

// Prints errors to stderr, each with the program's name before it; none of them stops the others from being told. With
// `only_checks` prints the settled values and the timeouts to stdout.
Settled Settle(const SettingsTable& table, const LoadResult& loaded, SettleOptions options);

}  // namespace muster
