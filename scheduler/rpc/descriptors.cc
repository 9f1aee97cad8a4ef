#include "scheduler/rpc/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "scheduler/rpc/unique_fd.h"

namespace muster::scheduler {
namespace {

// Where the kernel knows no limit, this many connections are still the most that anybody can mean.
constexpr rlim_t kEnough = 1'048'576;

}  // namespace

size_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlim_t wanted = limit.rlim_max < kEnough ? limit.rlim_max : kEnough;
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur < kEnough ? limit.rlim_cur : kEnough;
}

bool HasDescriptorBelow(size_t bound) {
  const UniqueFd probe(open("/", O_PATH | O_CLOEXEC));
  return probe.is_open() && static_cast<size_t>(probe.get()) < bound;
}

}  // namespace muster::scheduler
