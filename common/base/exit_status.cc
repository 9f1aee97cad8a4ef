#include "common/base/exit_status.h"

#include <sys/wait.h>

namespace muster {

ExitStatus ExitStatus::FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status), WCOREDUMP(status) != 0};
  return {WEXITSTATUS(status), 0, false};
}

}  // namespace muster
