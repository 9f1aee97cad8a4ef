#include "common/settings/preamble.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/base/version.h"

namespace muster {

std::optional<int> AnswerAtOnce(const SettingsTable& table, const LoadResult& loaded) {
  if (!loaded.wants_help && !loaded.wants_version) return std::nullopt;
  if (loaded.wants_help) {
    std::fputs((loaded.wants_all_help ? FullHelpText(table) : HelpText(table)).c_str(), stdout);
  } else {
    std::printf("%s %s\n", table.program().c_str(), kVersion);
  }
  return kExitSuccess;
}

Settled Settle(const SettingsTable& table, const LoadResult& loaded, SettleOptions options) {
  const auto say = [&](const std::string& text) {
    std::fprintf(stderr, "%s: %s\n", table.program().c_str(), text.c_str());
  };
  std::vector<std::string> errors = loaded.findings.errors;
  errors.insert(errors.end(), options.more.errors.begin(), options.more.errors.end());
  for (const std::string& word : loaded.positional) {
    errors.push_back(absl::StrCat("unexpected word ", EscapeControl(word), options.word_rule));
  }
  for (const std::string& error : errors) say(error);
  if (!errors.empty()) return {.exit_code = kExitUsage};

  Settled settled{.warnings = loaded.findings.warnings};
  settled.warnings.insert(settled.warnings.end(), options.more.warnings.begin(), options.more.warnings.end());
  if (options.only_checks) {
    for (const std::string& warning : settled.warnings) say(warning);
    std::printf("%s\n%s", ShowSettings(table, loaded).c_str(), ShowTimeouts(options.timeouts()).c_str());
    settled.exit_code = kExitSuccess;
  }
  return settled;
}

}  // namespace muster
