// What ends ms-scheduler: a signal, or with --once the end of its job.
#pragma once

#include <optional>

#include "common/mutex.h"
#include "scheduler/rpc/unique_fd.h"

namespace muster::scheduler {

class StopWaiter {
 public:
  // Blocks SIGTERM and SIGINT in this thread and all that it starts from now on; ignores SIGPIPE and SIGXFSZ. First
  // thing in main.
  StopWaiter();

  // Any thread: the job has ended, and --once is to end with this code. The first one counts.
  void NoteSettled(int exit_code);
  std::optional<int> settled() const;

  // Waits for a signal (returned) or NoteSettled (0). Main thread.
  int Wait();

  // From now on a signal ends the process at once, as if nobody caught it. Main thread.
  void LetSignalsKill();

 private:
  UniqueFd signals_;
  UniqueFd wake_;
  mutable Mutex mutex_;
  std::optional<int> settled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
