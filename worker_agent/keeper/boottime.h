// The one clock that the keeper reads: CLOCK_BOOTTIME, which also runs while the machine is suspended. A fence must not
// stand still because a laptop's lid or a paused virtual machine did.
#pragma once

#include "common/base/clock.h"

namespace muster::agent {

inline MonotonicTime BootTime() { return Clock::Boot().Read().monotonic; }

}  // namespace muster::agent
