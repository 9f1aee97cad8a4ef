#include "scheduler/core/placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/ip_address.h"
#include "scheduler/core/rank_order.h"

namespace muster::scheduler {
namespace {

struct Member {
  const Node* node = nullptr;
  std::vector<uint32_t> ranks;  // in slot order
  uint32_t first() const { return *std::min_element(ranks.begin(), ranks.end()); }
};

// The members of one role with their ranks, by first rank.
std::vector<Member> RankRole(const Run& run, v1::Role role, const std::vector<const Node*>& members,
                             const std::map<std::string, const Node*>& stands_for) {
  std::vector<OrderedNode> nodes;
  std::vector<Member> ranked;
  for (const Node* node : members) {
    if (node->info.role() != role) continue;
    nodes.push_back({node->id, &node->info});
    ranked.push_back({node, {}});
  }
  if (run.round == 0) {
    const bool ids_are_ranks = run.settings.server_num() == 0;
    auto ranks = AssignRanks(nodes, run.settings.hccl_cm_init(), ids_are_ranks);
    for (size_t i = 0; i < ranked.size(); ++i) ranked[i].ranks = std::move(ranks[i]);
  } else {
    for (Member& member : ranked) {
      const auto other = stands_for.find(member.node->id);
      member.ranks = RanksOf(other == stands_for.end() ? *member.node : *other->second);
    }
  }
  std::sort(ranked.begin(), ranked.end(), [](const Member& a, const Member& b) { return a.first() < b.first(); });
  return ranked;
}

// Machines are counted in the order of their lowest rank, workers before servers.
class Machines {
 public:
  uint32_t Number(const Node& node) {
    return numbers_.try_emplace(node.info.machine_id(), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::map<std::string, uint32_t> numbers_;
};

// A machine's processes of one role count from 0 in the order of their ranks, over all its agents.
std::vector<uint32_t> LocalRanks(const std::vector<Member>& members, Machines& machines) {
  constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> by_rank;  // the machine, then the place on it
  for (const Member& member : members) {
    const uint32_t machine = machines.Number(*member.node);
    for (const uint32_t rank : member.ranks) {
      if (rank >= by_rank.size()) by_rank.resize(rank + 1, kNone);
      by_rank[rank] = machine;
    }
  }
  std::vector<uint32_t> next(machines.size());
  for (uint32_t& place : by_rank) {
    if (place != kNone) place = next[place]++;
  }
  return by_rank;
}

void AddRole(const Run& run, v1::Role role, const std::vector<const Node*>& members,
             const std::map<std::string, const Node*>& stands_for, Machines& machines, v1::PeerList& list) {
  const std::vector<Member> ranked = RankRole(run, role, members, stands_for);
  const std::vector<uint32_t> local = LocalRanks(ranked, machines);
  for (const Member& member : ranked) {
    const v1::NodeInfo& info = member.node->info;
    v1::PeerNode* peer = list.add_nodes();
    peer->set_node_id(member.node->id);
    peer->set_machine(machines.Number(*member.node));
    peer->set_host_name(info.host_name());
    if (const auto address = IpAddress::Parse(info.address())) peer->set_address(address->bytes());
    peer->set_certificate_fingerprint(info.certificate_fingerprint());
    peer->set_role(role);
    for (int i = 0; i < info.slots_size(); ++i) {
      v1::PeerSlot* slot = peer->add_slots();
      slot->set_rank(member.ranks[i]);
      slot->set_local_rank(local.at(member.ranks[i]));
      slot->set_ring_port(info.slots(i).ring_port());
      if (!info.slots(i).device_id().empty()) slot->set_device_id(info.slots(i).device_id());
      if (!info.slots(i).device_address().empty()) slot->set_device_address(info.slots(i).device_address());
    }
  }
}

std::string AddressText(const v1::PeerNode& peer) {
  const auto address = IpAddress::FromBytes(peer.address());
  return address ? address->ToString() : "";
}

void FillNeighbour(const PeerIndex::Place& place, v1::RingNeighbour& neighbour) {
  neighbour.set_rank(place.slot->rank());
  neighbour.set_node_id(place.node->node_id());
  neighbour.set_host_name(place.node->host_name());
  neighbour.set_address(*place.address);
  neighbour.set_port(place.slot->ring_port());
  if (const std::string& certificate = place.node->certificate_fingerprint(); !certificate.empty()) {
    neighbour.set_certificate_fingerprint(certificate);
  }
}

}  // namespace

v1::PeerList BuildPeerList(const Run& run, uint32_t round, const std::vector<const Node*>& members,
                           const std::map<std::string, const Node*>& stands_for) {
  v1::PeerList list;
  list.set_job_id(run.job_id);
  list.set_run(run.number);
  list.set_round(round);
  list.set_worker_num(run.Needed(v1::ROLE_WORKER));
  list.set_server_num(run.Needed(v1::ROLE_SERVER));
  Machines machines;
  AddRole(run, v1::ROLE_WORKER, members, stands_for, machines, list);
  AddRole(run, v1::ROLE_SERVER, members, stands_for, machines, list);
  list.set_machine_num(machines.size());
  return list;
}

Master MasterOf(const Run& run, const v1::PeerList& peers) {
  if (peers.nodes().empty()) return {};
  const v1::PeerNode& first = peers.nodes(0);  // holds the lowest rank of the first role
  const auto it = run.nodes.find(first.node_id());
  MUSTER_CHECK(it != run.nodes.end(), "the peer list names a node that is not in the run");
  const v1::NodeInfo& info = it->second.info;
  return {info.wanted_master_address().empty() ? info.address() : info.wanted_master_address(),
          info.wanted_master_port() != 0 ? info.wanted_master_port() : info.master_port()};
}

PeerIndex::PeerIndex(const v1::PeerList& peers)
    : workers_(peers.worker_num()),
      servers_(peers.server_num()),
      local_workers_(peers.machine_num()),
      local_servers_(peers.machine_num()) {
  addresses_.reserve(static_cast<size_t>(peers.nodes_size()));  // they don't move
  for (const v1::PeerNode& node : peers.nodes()) {
    addresses_.push_back(AddressText(node));
    by_id_[node.node_id()] = &node;
    auto& places = node.role() == v1::ROLE_SERVER ? servers_ : workers_;
    auto& local = node.role() == v1::ROLE_SERVER ? local_servers_ : local_workers_;
    for (const v1::PeerSlot& slot : node.slots()) {
      MUSTER_CHECK(slot.rank() < places.size() && places[slot.rank()].node == nullptr, "ranks are no permutation");
      places[slot.rank()] = {&node, &slot, &addresses_.back()};
      ++local[node.machine()];
    }
  }
}

PeerIndex::Place PeerIndex::At(v1::Role role, uint32_t rank) const {
  return role == v1::ROLE_SERVER ? servers_[rank] : workers_[rank];
}

uint32_t PeerIndex::LocalWorldSize(v1::Role role, uint32_t machine) const {
  return role == v1::ROLE_SERVER ? local_servers_[machine] : local_workers_[machine];
}

uint32_t PeerIndex::Size(v1::Role role) const {
  return static_cast<uint32_t>(role == v1::ROLE_SERVER ? servers_.size() : workers_.size());
}

const v1::PeerNode* PeerIndex::Find(const std::string& node_id) const {
  const auto it = by_id_.find(node_id);
  return it == by_id_.end() ? nullptr : it->second;
}

const PeerIndex& IndexOf(const Run& run) {
  if (run.peer_index == nullptr) run.peer_index = std::make_shared<const PeerIndex>(run.peers);
  return *run.peer_index;
}

v1::Assignment BuildAssignment(const Run& run, const Node& node) {
  v1::Assignment assignment;
  const PeerIndex& index = IndexOf(run);
  const v1::PeerNode* self = index.Find(node.id);
  if (self == nullptr) return assignment;
  const v1::Role role = self->role();
  assignment.set_worker_num(run.peers.worker_num());
  assignment.set_server_num(run.peers.server_num());
  assignment.set_local_world_size(index.LocalWorldSize(role, self->machine()));
  assignment.set_node_rank(self->machine());
  assignment.set_machine_num(run.peers.machine_num());
  assignment.set_master_address(run.master_address);
  assignment.set_master_port(run.master_port);
  assignment.set_role(role);
  assignment.set_certificate_fingerprint(self->certificate_fingerprint());
  const uint32_t size = index.Size(role);
  for (int i = 0; i < self->slots_size(); ++i) {
    const uint32_t rank = self->slots(i).rank();
    v1::SlotAssignment* slot = assignment.add_slots();
    slot->set_rank(rank);
    slot->set_local_rank(self->slots(i).local_rank());
    slot->set_attempt(node.slots[i].attempt);
    slot->set_should_run(!node.slots[i].HasEnded());
    FillNeighbour(index.At(role, (rank + size - 1) % size), *slot->mutable_previous());
    FillNeighbour(index.At(role, (rank + 1) % size), *slot->mutable_next());
  }
  return assignment;
}

}  // namespace muster::scheduler
