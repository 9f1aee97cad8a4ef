// The places of a round's ranks: their agents and machines. It is for gateways in which all agents of a round work
// together. Each agent has an index.
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
    std::string host;             // name for frameworks and people; the same for all agents of one machine
    uint32_t machine = 0;         // the machine's number, counted in rank order
    std::vector<uint32_t> ranks;  // by slot
    std::vector<uint32_t> local_ranks;
  };
  // Identifies this round, and is the same on all its nodes. No other job that runs at the same time has it, not even a
  // job of another scheduler: it depends on the nodes' addresses and ports, which no other job has.
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

// The error says which data are missing, or why the round can't be served.
absl::StatusOr<RoundLayout> LayoutOf(const GatewayRound& round);

TaskLayout TasksOf(const RoundLayout& layout);

}  // namespace muster::agent
