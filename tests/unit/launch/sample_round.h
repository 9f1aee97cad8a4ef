// A round as a scheduler would form it: 6 workers, 4 of them on host a and 2 on host b.
#pragma once

#include <string>

#include "absl/strings/escaping.h"
#include "common/base/sha256.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

inline v1::PeerList SamplePeers() {
  v1::PeerList peers;
  peers.set_job_id("digits");
  peers.set_run(3);
  peers.set_round(2);
  peers.set_worker_num(6);
  peers.set_machine_num(2);
  uint32_t rank = 0;
  for (const auto& [host, address, count] : {std::tuple{"a", "10.0.0.1", 4u}, std::tuple{"b", "fd00::2", 2u}}) {
    v1::PeerNode* node = peers.add_nodes();
    node->set_node_id(std::string(host) + "-1");
    node->set_machine(static_cast<uint32_t>(peers.nodes_size()) - 1);
    node->set_host_name(host);
    node->set_address(IpAddress::Parse(address)->bytes());
    node->set_certificate_fingerprint(std::string(32, host[0]));
    node->set_role(v1::ROLE_WORKER);
    node->set_first_rank(rank);
    for (uint32_t i = 0; i < count; ++i, ++rank) node->add_ring_ports(41000 + rank);
  }
  return peers;
}

// The certificates that nodes a-1 and b-1 show.
inline std::string FingerprintOf(char host) { return absl::BytesToHexString(std::string(32, host)); }

inline void FillNeighbour(const v1::PeerNode& node, uint32_t rank, v1::RingNeighbour* neighbour) {
  neighbour->set_rank(rank);
  neighbour->set_node_id(node.node_id());
  neighbour->set_host_name(node.host_name());
  neighbour->set_address(node.address());
  neighbour->set_port(41000 + rank);
  neighbour->set_certificate_fingerprint(node.certificate_fingerprint());
}

// The desired state that node `index` of the sample gets.
inline v1::DesiredState SampleState(int index) {
  const v1::PeerList peers = SamplePeers();
  v1::DesiredState desired;
  desired.set_run(3);
  desired.set_round(2);
  desired.set_phase(v1::RUN_PHASE_RUNNING);
  desired.set_restart_count(5);
  desired.set_peers_digest(Sha256(peers.SerializeAsString()));
  v1::Assignment* assignment = desired.mutable_assignment();
  assignment->set_worker_num(6);
  assignment->set_local_world_size(static_cast<uint32_t>(SlotCount(peers.nodes(index))));
  assignment->set_node_rank(static_cast<uint32_t>(index));
  assignment->set_machine_num(2);
  assignment->set_master_address("10.0.0.1");
  assignment->set_master_port(40000);
  assignment->set_role(v1::ROLE_WORKER);
  const v1::PeerNode& self = peers.nodes(index);
  const v1::PeerNode& other = peers.nodes(1 - index);
  assignment->set_certificate_fingerprint(self.certificate_fingerprint());
  assignment->set_address(self.address());
  for (int i = 0; i < SlotCount(self); ++i) {
    v1::SlotAssignment* slot = assignment->add_slots();
    slot->set_rank(RankOf(self, i));
    slot->set_local_rank(LocalRankOf(self, i));
    slot->set_attempt(1);
    slot->set_should_run(true);
    if (i == 0) FillNeighbour(other, (slot->rank() + 5) % 6, slot->mutable_previous());
    if (i + 1 == SlotCount(self)) FillNeighbour(other, (slot->rank() + 1) % 6, slot->mutable_next());
  }
  return desired;
}

}  // namespace muster::agent
