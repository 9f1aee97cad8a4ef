// Whether there is room for one more connection.
#pragma once

#include <cstddef>

namespace muster::scheduler {

// Whether a new descriptor would still have a number below `bound`. The kernel hands out the lowest free number, so a
// number at or above it says that at least `bound` descriptors are in use, whoever opened them. Any thread.
bool HasDescriptorBelow(size_t bound);

}  // namespace muster::scheduler
