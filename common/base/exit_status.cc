#include "common/base/exit_status.h"

#include <sys/wait.h>

#include <csignal>

#include "absl/strings/str_cat.h"

namespace muster {

ExitStatus ExitStatus::FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status), WCOREDUMP(status) != 0};
  return {WEXITSTATUS(status), 0, false};
}

std::string NameOfSignal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal);
}

}  // namespace muster
