#include "worker_agent/gateway/mpi/process_mapping.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::agent {

std::string ProcessMapping(const RoundLayout& layout, size_t most_bytes) {
  struct Block {
    uint32_t machine = 0;
    uint32_t machines = 0;
    uint32_t ranks = 0;
  };
  std::vector<Block> blocks;
  std::vector<Block> runs;  // of ranks that follow each other on one machine
  for (const uint32_t machine : layout.MachineOfRank()) {
    if (runs.empty() || runs.back().machine != machine) runs.push_back({machine, 1, 0});
    ++runs.back().ranks;
  }
  for (const Block& run : runs) {
    const bool follows = !blocks.empty() && blocks.back().ranks == run.ranks &&
                         blocks.back().machine + blocks.back().machines == run.machine;
    if (follows) {
      ++blocks.back().machines;
    } else {
      blocks.push_back(run);
    }
  }
  std::string text = "(vector";
  for (const Block& block : blocks) {
    absl::StrAppend(&text, ",(", block.machine, ",", block.machines, ",", block.ranks, ")");
  }
  text += ")";
  return text.size() > most_bytes ? "" : text;
}

}  // namespace muster::agent
