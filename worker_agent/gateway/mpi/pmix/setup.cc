#include "worker_agent/gateway/mpi/pmix/setup.h"

#include <pmix_common.h>

#include <cstdlib>
#include <sstream>

namespace muster::pmix {

bool ParseSetup(const std::string& text, Setup& setup) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (name == "nspace") setup.nspace = value;
    if (name == "folder") setup.folder = value;
    if (name == "memory") setup.memory = value;
    if (name == "own") setup.own = std::strtoul(value.c_str(), nullptr, 10);
    if (name != "agent") continue;
    std::vector<uint32_t>& ranks = setup.ranks_of.emplace_back();
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');) {
      ranks.push_back(static_cast<uint32_t>(std::strtoul(word.c_str(), nullptr, 10)));
    }
    if (ranks.empty()) return false;
  }
  return !setup.nspace.empty() && setup.nspace.size() < PMIX_MAX_NSLEN && !setup.folder.empty() &&
         setup.own < setup.ranks_of.size();
}

}  // namespace muster::pmix
