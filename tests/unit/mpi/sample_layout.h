// Layouts of sample rounds.
#pragma once

#include <cstdint>

#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {

// Puts each agent on a machine of its own, with ranks in order.
inline RoundLayout SampleLayout(uint32_t agents, uint32_t ranks_each, uint32_t own = 0) {
  RoundLayout layout;
  layout.id = "4_2";
  layout.run = 4;
  layout.round = 2;
  layout.own = own;
  layout.machines = agents;
  for (uint32_t i = 0; i < agents; ++i) {
    RoundLayout::Agent agent;
    agent.host = "host" + std::to_string(i);
    agent.machine = i;
    for (uint32_t slot = 0; slot < ranks_each; ++slot) {
      agent.ranks.push_back(i * ranks_each + slot);
      agent.local_ranks.push_back(slot);
    }
    layout.agents.push_back(agent);
  }
  return layout;
}

}  // namespace muster::agent
