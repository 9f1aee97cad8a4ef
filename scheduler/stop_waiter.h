// What ends ms-scheduler: a signal, or with --once the end of its job.
#pragma once

#include <signal.h>

#include <functional>
#include <optional>

#include "common/mutex.h"
#include "common/unique_fd.h"

namespace muster::scheduler {

class StopWaiter {
 public:
  // Blocks SIGTERM, SIGINT and SIGHUP in this thread and all that it starts from now on; ignores SIGPIPE and SIGXFSZ.
  // First thing in main.
  StopWaiter();

  // Any thread: the job has ended, and --once is to end with this code. The first one counts.
  void NoteSettled(int exit_code);
  std::optional<int> settled() const;

  // Waits for a signal (returned) or NoteSettled (0); `on_hangup` is called for each SIGHUP: false
  // makes it end the wait too, unless it was ignored when the process began. Main thread.
  int Wait(const std::function<bool()>& on_hangup);

  // From now on a signal ends the process at once, as if nobody caught it. Main thread.
  void LetSignalsKill();

 private:
  UniqueFd signals_;
  UniqueFd wake_;
  bool ignores_hangup_ = false;
  mutable Mutex mutex_;
  std::optional<int> settled_ ABSL_GUARDED_BY(mutex_);
};

// While it lives SIGTERM and SIGINT end the process at once, as if nobody caught them: for what may hang before there
// is anything to drain. No thread may be started meanwhile. Main thread.
class Killable {
 public:
  Killable();
  ~Killable();
  Killable(const Killable&) = delete;
  Killable& operator=(const Killable&) = delete;

 private:
  sigset_t before_;
};

}  // namespace muster::scheduler
