// What the agent tells ms-pmix of its round, once and first: lines, in this order.
//
//   nspace=NAME      of the job's round
//   folder=PATH      for everything that libpmix and Open MPI keep while the round lasts
//   memory=PATH      for what ranks share; nothing: there is none
//   own=N            this agent, from 0
//   agent=R,R,…      the ranks of each agent, in slot order; one line each
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::pmix {

struct Setup {
  std::string nspace;
  std::string folder;
  std::string memory;
  size_t own = 0;
  std::vector<std::vector<uint32_t>> ranks_of;  // by agent

  uint32_t size() const {
    size_t size = 0;
    for (const auto& ranks : ranks_of) size += ranks.size();
    return static_cast<uint32_t>(size);
  }
};

// False where the text is not one.
bool ParseSetup(const std::string& text, Setup& setup);

}  // namespace muster::pmix
