#include "worker_agent/gateway/chassis/barriers/task_layout.h"

#include <algorithm>
#include <numeric>

namespace muster::agent {

int32_t TaskLayout::size() const {
  size_t all = 0;
  for (const auto& tasks : agents) all += tasks.size();
  return static_cast<int32_t>(all);
}

std::vector<int32_t> TaskLayout::Everyone() const {
  std::vector<int32_t> everyone(static_cast<size_t>(size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  return everyone;
}

bool TaskLayout::IsOwn(int32_t task) const {
  return std::find(agents[own].begin(), agents[own].end(), task) != agents[own].end();
}

}  // namespace muster::agent
