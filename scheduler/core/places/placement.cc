#include "scheduler/core/places/placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "common/base/check.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "scheduler/core/places/rank_order.h"

namespace muster::scheduler {
namespace {

struct Member {
  const Node* node = nullptr;
  std::vector<uint32_t> ranks;  // in slot order
  uint32_t first = 0;           // the lowest of its ranks
  uint32_t machine = 0;         // the number of its machine
};

// Returns the members of one role with their ranks, in the order of their first ranks.
std::vector<Member> RankRole(const Run& run, v1::Role role, const std::vector<const Node*>& members,
                             const std::map<std::string, const Node*>& stands_for, const OtherAddresses& addresses) {
  std::vector<OrderedNode> nodes;
  std::vector<Member> ranked;
  nodes.reserve(members.size());
  ranked.reserve(members.size());
  for (const Node* node : members) {
    if (node->record().info.role() != role) continue;
    nodes.push_back({node->record().id, &node->record().info, AddressOf(*node, addresses)});
    ranked.emplace_back().node = node;
  }
  if (run.record().round == 0) {
    const bool ids_are_ranks = run.record().settings.server_num() == 0;
    auto ranks = AssignRanks(nodes, run.record().settings.hccl_cm_init(), ids_are_ranks);
    for (size_t i = 0; i < ranked.size(); ++i) ranked[i].ranks = std::move(ranks[i]);
  } else {
    for (Member& member : ranked) {
      const auto other = stands_for.find(member.node->record().id);
      member.ranks = RanksOf(other == stands_for.end() ? *member.node : *other->second);
    }
  }
  for (Member& member : ranked) {
    if (!member.ranks.empty()) member.first = *std::min_element(member.ranks.begin(), member.ranks.end());
  }
  std::sort(ranked.begin(), ranked.end(), [](const Member& a, const Member& b) { return a.first < b.first; });
  return ranked;
}

// Numbers the machines in the order of the calls: by their lowest rank, workers before servers.
class Machines {
 public:
  uint32_t Number(const Node& node) {
    const std::string& id = node.record().info.machine_id();
    return numbers_.try_emplace(absl::string_view(id), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  absl::flat_hash_map<absl::string_view, uint32_t> numbers_;  // by machine id; the nodes own the texts
};

// Returns the local rank of each rank. On each machine, the processes of one role are counted from 0 in the order of
// their ranks, over all its agents.
std::vector<uint32_t> LocalRanks(const std::vector<Member>& members, const Machines& machines) {
  constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> by_rank;  // for each rank: its machine, which its local rank then replaces
  for (const Member& member : members) {
    for (const uint32_t rank : member.ranks) {
      if (rank >= by_rank.size()) by_rank.resize(rank + 1, kNone);
      by_rank[rank] = member.machine;
    }
  }
  std::vector<uint32_t> next(machines.size());
  for (uint32_t& place : by_rank) {
    if (place != kNone) place = next[place]++;
  }
  return by_rank;
}

// Adds the device ids and addresses of the node's slots. It adds each kind of value only if some slot has one.
void AddDevices(const v1::NodeInfo& info, v1::PeerNode& peer) {
  const auto& slots = info.slots();
  if (std::any_of(slots.begin(), slots.end(), [](const v1::SlotOffer& s) { return !s.device_id().empty(); })) {
    for (const v1::SlotOffer& slot : slots) peer.add_device_ids(slot.device_id());
  }
  if (std::any_of(slots.begin(), slots.end(), [](const v1::SlotOffer& s) { return !s.device_address().empty(); })) {
    for (const v1::SlotOffer& slot : slots) peer.add_device_addresses(slot.device_address());
  }
  if (std::any_of(slots.begin(), slots.end(), [](const v1::SlotOffer& s) { return !s.super_device_id().empty(); })) {
    for (const v1::SlotOffer& slot : slots) peer.add_super_device_ids(slot.super_device_id());
  }
  peer.set_super_pod(info.super_pod());
  peer.set_chief_port(info.chief_port());
}

void AddOtherAddresses(const v1::NodeInfo& info, v1::PeerNode& peer) {
  for (const std::string& text : info.addresses()) {
    const auto address = IpAddress::Parse(text);
    if (address && address->bytes() != peer.address()) peer.add_other_addresses(address->bytes());
  }
}

void AddRole(const Run& run, v1::Role role, const std::vector<const Node*>& members,
             const std::map<std::string, const Node*>& stands_for, const OtherAddresses& addresses, Machines& machines,
             v1::PeerList& list) {
  std::vector<Member> ranked = RankRole(run, role, members, stands_for, addresses);
  for (Member& member : ranked) member.machine = machines.Number(*member.node);
  const std::vector<uint32_t> local = LocalRanks(ranked, machines);
  std::vector<uint32_t> local_ranks;
  for (const Member& member : ranked) {
    const v1::NodeInfo& info = member.node->record().info;
    v1::PeerNode& peer = *list.add_nodes();
    peer.set_node_id(member.node->record().id);
    peer.set_machine(member.machine);
    peer.set_host_name(info.host_name());
    if (const auto address = IpAddress::Parse(AddressOf(*member.node, addresses))) peer.set_address(address->bytes());
    peer.set_role(role);
    if (const std::string& hex = info.certificate_fingerprint(); !hex.empty()) {
      peer.set_certificate_fingerprint(absl::HexStringToBytes(hex));
    }
    local_ranks.clear();
    for (const uint32_t rank : member.ranks) local_ranks.push_back(local.at(rank));
    SetRanks(member.ranks, peer);
    SetLocalRanks(local_ranks, peer);
    peer.mutable_ring_ports()->Reserve(info.slots_size());
    for (const v1::SlotOffer& slot : info.slots()) peer.add_ring_ports(slot.ring_port());
    AddDevices(info, peer);
    // The first node in the list has rank 0.
    if (list.nodes_size() == 1) list.set_has_torch_store(info.has_torch_store() && role == v1::ROLE_WORKER);
    peer.set_exec_port(info.exec_port());
    peer.set_exec_key(info.exec_key());
    if (list.has_torch_store() || info.exec_port() != 0) AddOtherAddresses(info, peer);
  }
}

// True if rank 0's agent has relays switched on and all other agents know relays, so none has an older version.
bool AreRelaysWanted(const v1::PeerList& list, const std::vector<const Node*>& members) {
  if (!list.has_torch_store() || list.nodes_size() < 2) return false;
  return std::all_of(members.begin(), members.end(), [&](const Node* node) {
    const v1::TorchStoreRelay reported = node->record().info.torch_store_relay();
    const bool is_rank0 = node->record().id == list.nodes(0).node_id();
    return reported == v1::TORCH_STORE_RELAY_ON || (reported == v1::TORCH_STORE_RELAY_OFF && !is_rank0);
  });
}

void FillNeighbour(const PeerIndex::Place& place, uint32_t rank, v1::RingNeighbour& neighbour) {
  const v1::PeerNode& node = *place.node;
  neighbour.set_rank(rank);
  neighbour.set_node_id(node.node_id());
  neighbour.set_host_name(node.host_name());
  neighbour.set_address(node.address());
  neighbour.set_port(node.ring_ports(place.slot));
  if (const std::string& certificate = node.certificate_fingerprint(); !certificate.empty()) {
    neighbour.set_certificate_fingerprint(certificate);
  }
}

}  // namespace

v1::PeerList BuildPeerList(const Run& run, uint32_t round, const std::vector<const Node*>& members,
                           const std::map<std::string, const Node*>& stands_for, const OtherAddresses& addresses) {
  v1::PeerList list;
  SetHead(list, run);
  list.set_round(round);
  list.set_worker_num(run.Needed(v1::ROLE_WORKER));
  list.set_server_num(run.Needed(v1::ROLE_SERVER));
  Machines machines;
  AddRole(run, v1::ROLE_WORKER, members, stands_for, addresses, machines, list);
  AddRole(run, v1::ROLE_SERVER, members, stands_for, addresses, machines, list);
  list.set_machine_num(machines.size());
  list.set_has_torch_store_relays(AreRelaysWanted(list, members));
  return list;
}

Master MasterOf(const Run& run, const v1::PeerList& peers) {
  if (peers.nodes().empty()) return {};
  const v1::PeerNode& first = peers.nodes(0);  // holds the lowest rank of the first role
  const Node* node = run.nodes.Find(first.node_id());
  MUSTER_CHECK(node != nullptr, "the peer list names a node that is not in the run");
  const v1::NodeInfo& info = node->record().info;
  const auto reported = IpAddress::FromBytes(first.address());
  const auto wanted = IpAddress::Parse(info.wanted_master_address());
  const bool has_wish = !info.wanted_master_address().empty() && !(wanted && wanted->is_loopback() && reported &&
                                                                   !reported->is_loopback() && peers.machine_num() > 1);
  return {has_wish ? info.wanted_master_address() : (reported ? reported->ToString() : info.address()),
          info.wanted_master_port() != 0 ? info.wanted_master_port() : info.master_port()};
}

PeerIndex::PeerIndex(const v1::PeerList& peers)
    : workers_(peers.worker_num()),
      servers_(peers.server_num()),
      local_workers_(peers.machine_num()),
      local_servers_(peers.machine_num()) {
  by_id_.reserve(static_cast<size_t>(peers.nodes_size()));
  for (const v1::PeerNode& node : peers.nodes()) {
    by_id_[node.node_id()] = &node;
    auto& places = node.role() == v1::ROLE_SERVER ? servers_ : workers_;
    auto& local = node.role() == v1::ROLE_SERVER ? local_servers_ : local_workers_;
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      const uint32_t rank = RankOf(node, slot);
      MUSTER_CHECK(rank < places.size() && places[rank].node == nullptr, "ranks are no permutation");
      places[rank] = {&node, slot};
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
  if (run.peer_index == nullptr) run.peer_index = std::make_shared<const PeerIndex>(run.record().peers);
  return *run.peer_index;
}

void FillAssignment(const Run& run, const Node& node, v1::Assignment& assignment) {
  const PeerIndex& index = IndexOf(run);
  const v1::PeerNode* self = index.Find(node.record().id);
  if (self == nullptr) return;
  const v1::Role role = self->role();
  assignment.set_worker_num(run.record().peers.worker_num());
  assignment.set_server_num(run.record().peers.server_num());
  assignment.set_local_world_size(index.LocalWorldSize(role, self->machine()));
  assignment.set_node_rank(self->machine());
  assignment.set_machine_num(run.record().peers.machine_num());
  assignment.set_master_address(run.record().master_address);
  assignment.set_master_port(run.record().master_port);
  assignment.set_has_torch_store(run.record().peers.has_torch_store());
  if (run.record().peers.has_torch_store_relays()) {
    assignment.set_torch_store_node(run.record().peers.nodes(0).node_id());
  }
  assignment.set_role(role);
  if (!self->certificate_fingerprint().empty()) {
    assignment.set_certificate_fingerprint(self->certificate_fingerprint());
  }
  assignment.set_address(self->address());
  const uint32_t size = index.Size(role);
  const auto place_of = [&](uint32_t rank) { return index.At(role, rank); };
  for (int i = 0; i < SlotCount(*self); ++i) {
    const uint32_t rank = RankOf(*self, i);
    v1::SlotAssignment* slot = assignment.add_slots();
    slot->set_rank(rank);
    slot->set_local_rank(LocalRankOf(*self, i));
    slot->set_attempt(node.record().slots[i].attempt);
    slot->set_should_run(!node.record().slots[i].HasEnded());
    const uint32_t before = (rank + size - 1) % size;
    const uint32_t behind = (rank + 1) % size;
    if (place_of(before).node != self) FillNeighbour(place_of(before), before, *slot->mutable_previous());
    if (place_of(behind).node != self) FillNeighbour(place_of(behind), behind, *slot->mutable_next());
  }
}

}  // namespace muster::scheduler
