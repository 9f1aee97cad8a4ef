// How much memory this process may use for its connections.
#pragma once

#include <cstddef>

namespace muster::scheduler {

// Half of what the machine has, or of what its control group may use where that is less. In bytes, at least 64 MiB.
size_t ConnectionMemory();

}  // namespace muster::scheduler
