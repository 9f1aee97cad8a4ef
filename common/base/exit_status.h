// The end of a process: its exit code, or the signal that ended it.
#pragma once

#include <compare>
#include <string>

#include "common/base/exit_codes.h"

namespace muster {

// At least one of `code` and `signal` is 0.
struct ExitStatus {
  int code = 0;
  int signal = 0;
  bool core_dumped = false;

  static ExitStatus FromWaitStatus(int status);  // `status`: set by waitpid

  bool IsSuccess() const { return code == 0 && signal == 0; }
  // Returns the exit code that a shell reports: `code`, or 128 + `signal`.
  int AsExitCode() const { return signal != 0 ? kExitSignalBase + signal : code; }

  auto operator<=>(const ExitStatus&) const = default;
};

// Returns "SIGKILL"; "signal 40" for a signal without a name.
std::string NameOfSignal(int signal);

}  // namespace muster
