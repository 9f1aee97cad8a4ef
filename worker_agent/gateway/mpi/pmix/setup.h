// The agent's first message to ms-pmix, which describes the round. It has these lines, in this order:
//
//   nspace=NAME      PMIx's name for the job in this round
//   folder=PATH      for all files that libpmix and Open MPI keep during the round
//   memory=PATH      for memory that ranks share; empty: there is none
//   own=N            this agent's place in the list below, from 0
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

// Returns false if the text is not a setup.
bool ParseSetup(const std::string& text, Setup& setup);

}  // namespace muster::pmix
