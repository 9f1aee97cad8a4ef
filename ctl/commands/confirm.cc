#include "ctl/commands/confirm.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster::ctl {

std::string WhyAsk(const v1::RunStatus& run, bool is_named, const std::string& user) {
  const std::string owner = run.opened_by().substr(0, run.opened_by().rfind('@'));
  if (!owner.empty() && owner != user) return absl::StrCat("it belongs to user ", owner, ", and you are ", user);
  return is_named ? "" : "you did not name it";
}

absl::Status AskYes(const v1::RunStatus& run, const std::string& why) {
  const std::string what = EscapeControl(absl::StrCat("job ", run.job_id(), ", run ", run.run()));
  if (isatty(STDIN_FILENO) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " was not stopped: ", why,
                     ", and there is no terminal to ask on: name the job and add --yes to stop it"));
  }
  std::fprintf(stderr, "Stop %s, opened by %s? (%s) [y/N] ", what.c_str(), EscapeControl(run.opened_by()).c_str(),
               EscapeControl(why).c_str());
  std::string line;
  std::getline(std::cin, line);
  const std::string answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(line));
  if (answer == "y" || answer == "yes") return absl::OkStatus();
  return absl::CancelledError(absl::StrCat(what, " goes on"));
}

}  // namespace muster::ctl
