// How many file descriptors this process may have.
#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace muster {

// Raises the soft limit to the hard one, or to 1,048,576 if that is less, once, at the start: the usual 1,024 are too
// few for many agents or slots. Returns what held before, for those that shall have it back.
rlimit RaiseDescriptorLimit();

// The soft limit, at most 1,048,576.
size_t DescriptorLimit();

}  // namespace muster
