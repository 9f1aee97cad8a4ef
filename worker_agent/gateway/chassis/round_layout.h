// The places of a round's ranks, for gateways that answer together on all agents: one index for each agent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/gateway/chassis/barriers/task_layout.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

struct RoundLayout {
  struct Agent {
    std::string host;             // shown, and the same for all agents of one machine
    uint32_t machine = 0;         // in rank order
    std::vector<uint32_t> ranks;  // by slot
    std::vector<uint32_t> local_ranks;
  };
  // Names this round, the same on all its nodes. No other job running at the same time has this id, not even a job of
  // another scheduler, because its nodes have other ports.
  std::string id;
  uint64_t run = 0;
  uint32_t round = 0;
  uint32_t own = 0;  // index into agents
  uint32_t machines = 0;
  std::vector<Agent> agents;  // of workers, in the peer list's order

  const Agent& own_agent() const { return agents[own]; }
  uint32_t size() const;
  std::vector<uint32_t> MachineOfRank() const;  // by rank
};

// Returns the layout. The error says what is not known, or what can't be served.
absl::StatusOr<RoundLayout> LayoutOf(const GatewayRound& round);

TaskLayout TasksOf(const RoundLayout& layout);

}  // namespace muster::agent
