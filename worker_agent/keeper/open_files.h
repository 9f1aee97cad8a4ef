// How many files this process may have open.
#pragma once

#include <sys/resource.h>

namespace muster::agent {

// Raises the soft limit to the hard one: the usual 1,024 are too few for many slots. Returns what held before, which
// the training processes get back.
rlimit RaiseOpenFiles();

}  // namespace muster::agent
