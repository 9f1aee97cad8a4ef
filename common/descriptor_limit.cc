#include "common/descriptor_limit.h"

#include <algorithm>

namespace muster {
namespace {

// Where the kernel knows no limit, this many are still the most that anybody can mean.
constexpr rlim_t kEnough = 1'048'576;
constexpr rlim_t kUsual = 1024;  // where the kernel does not tell

}  // namespace

rlimit RaiseDescriptorLimit() {
  rlimit before{kUsual, kUsual};
  if (getrlimit(RLIMIT_NOFILE, &before) != 0) return before;
  const rlimit raised{std::max(before.rlim_cur, std::min(before.rlim_max, kEnough)), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

size_t DescriptorLimit() {
  rlimit limit{kUsual, kUsual};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min(limit.rlim_cur, kEnough);
}

}  // namespace muster
