// The one clock that the keeper reads: CLOCK_BOOTTIME, which also runs while the machine is suspended. A fence must not
// stand still because a laptop's lid or a paused virtual machine did.
#pragma once

#include <cstdint>

namespace muster::agent {

int64_t BootTimeMs();

}  // namespace muster::agent
