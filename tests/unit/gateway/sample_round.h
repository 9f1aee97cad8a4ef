// A sample round with one agent, for gateways.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/net/peer_node.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

inline GatewayRound SampleRound(uint32_t slots, uint32_t number = 1) {
  v1::PeerList peers;
  v1::PeerNode& node = *peers.add_nodes();
  node.set_node_id("n0");
  node.set_host_name("one");
  node.set_role(v1::ROLE_WORKER);
  GatewayRound round;
  round.run = 1;
  round.round = number;
  round.node_id = "n0";
  round.assignment.set_role(v1::ROLE_WORKER);
  std::vector<uint32_t> ranks;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    ranks.push_back(slot);
    node.add_ring_ports(0);
    round.assignment.add_slots()->set_rank(slot);
  }
  SetRanks(ranks, node);
  round.peers = std::make_shared<const v1::PeerList>(peers);
  return round;
}

// The environment of this slot's process.
inline EnvironmentInput GivenTo(const Gateway& gateway, uint32_t slot) {
  EnvironmentInput input;
  input.slot = slot;
  gateway.AddTo(input);
  return input;
}

}  // namespace muster::agent
