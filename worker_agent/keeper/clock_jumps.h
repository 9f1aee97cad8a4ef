// Forward jumps of the wall clock against CLOCK_BOOTTIME. A machine that was suspended shows none, since both go on. A
// virtual machine that was paused (a snapshot, a live migration) stops both, and when its wall clock is set right again
// the jump is as long as the pause. So a jump is a hint that others may have counted time that this machine has not.
// It may also be a person's doing. Source: timerfd_create(2), TFD_TIMER_CANCEL_ON_SET.
#pragma once

#include "absl/time/time.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class ClockJumps {
 public:
  ClockJumps();

  // Readable when the wall clock was set; -1 where the kernel doesn't report it.
  int fd() const { return timer_.get(); }
  // Returns the jump forward since the last call; zero or less: backward, or none.
  absl::Duration Take();

 private:
  void Arm();

  UniqueFd timer_;
  absl::Duration offset_;  // of the wall clock
};

}  // namespace muster::agent
