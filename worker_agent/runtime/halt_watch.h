// Notices a process that the kernel does not let run: stopped (T), by a signal or a debugger, or in uninterruptible
// sleep (D), as on a file server that does not answer. Such a process looks alive from outside.
//
//   state               halted once it lasted   and
//   T, t                kStoppedPatience        -
//   D                   kSleepPatience          the process has not run meanwhile: short waits for a disk are normal
//
// Looks at the process of a slot, and if that is no Python, also at its descendants: a shell or a launcher may have
// started the training process. The agent's loop polls and owns it. Linux; see proc(5).
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class HaltWatch {
 public:
  static constexpr absl::Duration kStoppedPatience = absl::Seconds(2);
  static constexpr absl::Duration kSleepPatience = absl::Seconds(60);

  // Watches the process until Forget.
  void Watch(const ProcessKey& key, pid_t pid);
  void Forget(const ProcessKey& key) { watched_.erase(key); }
  void ForgetAll() { watched_.clear(); }
  bool IsIdle() const { return watched_.empty(); }

  // Returns the processes that have halted, or go on again, since the last call. To be called about once a second.
  std::vector<ProcessHalted> Poll(MonotonicTime now);

 private:
  struct Watched {
    pid_t pid = 0;
    pid_t seen = 0;       // the process that was in `state` at the last look; 0: none
    char state = 0;       // 'T' or 'D'
    std::string turns;    // how often it has run, as the kernel counts
    MonotonicTime since;  // since when it has been in that state
    bool is_reported = false;
  };

  static std::optional<ProcessHalted> Look(const ProcessKey& key, Watched& watched, MonotonicTime now);

  std::map<ProcessKey, Watched> watched_;
};

}  // namespace muster::agent
