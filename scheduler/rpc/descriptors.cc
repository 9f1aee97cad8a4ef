#include "scheduler/rpc/descriptors.h"

#include <fcntl.h>

#include "common/unique_fd.h"

namespace muster::scheduler {

bool HasDescriptorBelow(size_t bound) {
  const UniqueFd probe(open("/", O_PATH | O_CLOEXEC));
  return probe.is_open() && static_cast<size_t>(probe.get()) < bound;
}

}  // namespace muster::scheduler
