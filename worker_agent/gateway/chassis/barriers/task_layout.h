// Which tasks each agent of a round has: its ranks, where a gateway's protocol calls them so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

// The same on all agents, but for `own`.
struct TaskLayout {
  std::vector<std::vector<int32_t>> agents;
  std::vector<std::string> hosts;  // of the agents, for people
  size_t own = 0;                  // which agent this is

  int32_t size() const;
  std::vector<int32_t> Everyone() const;
  bool IsOwn(int32_t task) const;
};

}  // namespace muster::agent
