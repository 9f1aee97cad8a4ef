// The only clock by which the keeper decides: CLOCK_BOOTTIME. It also runs while the machine is suspended, so a fence's
// time passes even while a laptop's lid is closed. A paused virtual machine stops it: see clock_jumps.h.
#pragma once

#include "common/base/clock.h"

namespace muster::agent {

inline MonotonicTime BootTime() { return Clock::Boot().Read().monotonic; }

}  // namespace muster::agent
