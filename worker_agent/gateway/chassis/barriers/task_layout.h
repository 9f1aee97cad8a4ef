// The tasks of each agent of a round. Tasks are ranks; some gateways' protocols call them tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

// The same on all agents, except `own`.
struct TaskLayout {
  std::vector<std::vector<int32_t>> agents;
  std::vector<std::string> hosts;  // of the agents, for people
  size_t own = 0;                  // this agent's index

  int32_t size() const;
  std::vector<int32_t> Everyone() const;
  bool IsOwn(int32_t task) const;
};

}  // namespace muster::agent
