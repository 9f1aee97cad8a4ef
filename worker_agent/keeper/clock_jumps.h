// Detects forward jumps of the wall clock against CLOCK_BOOTTIME.
//
// A suspended machine shows no jump, since both clocks go on. A paused virtual machine (a snapshot, a live migration)
// stops both clocks. When its wall clock is set right again, it jumps forward by the length of the pause. So a jump is
// a hint that other machines have counted time that this machine has not. The jump may also come from a person: anyone
// with the right to set the clock can cause one. Source: timerfd_create(2), TFD_TIMER_CANCEL_ON_SET.
#pragma once

#include "absl/time/time.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class ClockJumps {
 public:
  ClockJumps();

  // Readable once somebody has set the wall clock; -1 where the kernel doesn't report this.
  int fd() const { return timer_.get(); }
  // Returns how far the wall clock has jumped forward since the last call: negative for a jump backward, about zero for
  // no jump.
  absl::Duration Take();

 private:
  void Arm();

  UniqueFd timer_;
  absl::Duration offset_;  // wall clock minus CLOCK_BOOTTIME
};

}  // namespace muster::agent
