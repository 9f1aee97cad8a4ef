// A process's end, as its parent learns it from the system.
#pragma once

#include <compare>
#include <string>

#include "common/base/exit_codes.h"

namespace muster {

// At most one of code and signal is not 0.
struct ExitStatus {
  int code = 0;
  int signal = 0;
  bool core_dumped = false;

  static ExitStatus FromWaitStatus(int status);  // as waitpid gives it

  bool IsSuccess() const { return code == 0 && signal == 0; }
  // The end as one number, as shells write it.
  int AsExitCode() const { return signal != 0 ? kExitSignalBase + signal : code; }

  auto operator<=>(const ExitStatus&) const = default;
};

// "SIGKILL"; "signal 40" for a signal without a name.
std::string NameOfSignal(int signal);

}  // namespace muster
